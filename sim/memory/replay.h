#pragma once
// Replays the allocations of one role through the caching allocator: prologue, first step, second
// step, in host issue order. No clock is needed, because an allocator acts when the host issues.
//
// What comes out: peaks at start-up, in the first and in a later step; at the peak of allocated
// memory the moment, the categories and the largest tensors; memory call by call; and, when a
// request fails, the moment and the tensor. A step's repeating part (sim/memory/call_period.h) is
// skipped once the allocator's state recurs; the result is the same to the byte.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/allocator/caching_allocator.h"
#include "program/program.h"

namespace windtunnel {

constexpr std::size_t kCategories = static_cast<std::size_t>(Category::count);

struct ReplaySettings {
  AllocatorSettings allocator;              // capacity: what is left for the allocator
  std::int64_t cublas_workspace_bytes = 0;  // per (host thread, stream) with matrix products
  enum class Steady : std::uint8_t { skip, replay } steady = Steady::skip;
  std::size_t contributors = 10;  // largest tensors named at the peak
};

/// Where in the program something happened.
struct Moment {
  int step = -1;             // -1: start-up
  int call = -1;             // in Role::prologue or Role::calls
  std::uint32_t op = kNone;  // in Program::ops
  Phase phase = Phase::startup;
  int chunk = -1, micro_batch = -1;
};

/// Bytes; `held` is what the allocator could not give back by emptying its cache.
struct MemoryPeaks {
  std::int64_t allocated = 0, reserved = 0, held = 0;

  friend bool operator==(const MemoryPeaks&, const MemoryPeaks&) = default;
};

/// Peaks inside one call.
struct MemorySample {
  int step = -1, call = -1;
  MemoryPeaks peaks;
};

/// Live tensors of one name at the peak: `instances` together hold `bytes`, before rounding.
struct Contributor {
  std::string name;
  Category category = Category::activations;
  std::int64_t bytes = 0;
  int instances = 0;
};

/// A request that failed after the cache was emptied.
struct OutOfMemory {
  Moment moment;
  std::string tensor;
  Category category = Category::activations;
  std::int64_t requested = 0;  // rounded
  std::int64_t allocated = 0, reserved = 0;
};

struct ReplayResult {
  MemoryPeaks startup, first_step, later_step;
  MemoryPeaks peak;                                     // over all of it
  Moment peak_moment;                                   // of peak.allocated, its first occurrence
  std::array<std::int64_t, kCategories> by_category{};  // at that moment, before rounding
  std::int64_t rounding_bytes = 0;                      // peak.allocated - sum of by_category
  std::vector<Contributor> contributors;                // at that moment, largest first
  std::vector<MemorySample> timeline;                   // by call
  std::optional<OutOfMemory> oom;                       // the replay ended there
  std::int64_t retries = 0;  // times the cache was emptied; skipped periods have none
  std::int64_t ops_replayed = 0, calls_skipped = 0;
};

/// Precondition: 0 <= role < program.roles.size(); every instance is taken before it is freed.
ReplayResult replay_memory(const Program& program, int role, const ReplaySettings& settings);

}  // namespace windtunnel
