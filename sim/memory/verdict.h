#pragma once
// Does a program fit its devices? Every stage's allocations are replayed with the room that is left
// beside context and NCCL; the fullest stage decides.
//
// need = outside + held, the bytes that could not have been given back at the fullest moment. The
// true need is taken as normal around it with a relative deviation sigma: 5 % where the framework's
// source is known, 10 % where it is not (residuals of published peaks against a replay with and
// without the framework's own recipe). P(oom) = Phi((need - capacity) / (sigma * need)); a replay
// that itself runs out of memory is at least 0.5. Stages err together, so the program's probability
// is the largest of its stages'.

#include <array>
#include <cstdint>
#include <vector>

#include "models/allocator/device_memory.h"
#include "program/program.h"
#include "sim/memory/outside.h"
#include "sim/memory/replay.h"

namespace windtunnel {

constexpr double kSigmaSourceKnown = 0.05;
constexpr double kSigmaSourceUnknown = 0.10;

/// From here a plan is called tight: one launch in twenty would fail.
constexpr double kTightProbability = 0.05;
constexpr double kOomProbability = 0.5;

enum class MemoryVerdict : std::uint8_t { fits, tight, oom };

constexpr const char* name_of(MemoryVerdict verdict) {
  return verdict == MemoryVerdict::fits    ? "fits"
         : verdict == MemoryVerdict::tight ? "tight"
                                           : "oom";
}

/// Bytes of one stage. Peaks are those of a replay without a limit where the limited one ran out of
/// memory: what it would have needed.
struct StageNeed {
  int stage = 0;
  std::int64_t peak_allocated = 0, peak_reserved = 0;
  std::int64_t peak_device = 0;                         // reserved + outside, as nvidia-smi shows
  std::array<std::int64_t, kCategories> by_category{};  // at peak_allocated, before rounding
  std::int64_t need = 0;
  double oom_probability = 0.0;
  OutsideMemory outside;
  ReplayResult replay;  // `oom` of the limited replay, if it ran out of memory
};

struct MemoryReport {
  MemoryVerdict verdict = MemoryVerdict::fits;
  double oom_probability = 0.0;
  std::int64_t capacity_bytes = 0;
  std::int64_t margin_bytes = 0;  // capacity - need of the fullest stage; negative: missing
  int fullest = 0;                // index into stages
  std::vector<StageNeed> stages;
};

struct MemoryQuestion {
  DeviceMemory device;
  int domain_ranks = 8;  // ranks that share an NVLink domain
  bool expandable_segments = false;
  double sigma = kSigmaSourceUnknown;
  int threads = 1;  // stages are independent; the answer does not depend on it
};

/// P(true need > capacity).
double oom_probability(std::int64_t need, std::int64_t capacity, double sigma);

MemoryVerdict verdict_of(double oom_probability);

MemoryReport assess_memory(const Program& program, const MemoryQuestion& question);

}  // namespace windtunnel
