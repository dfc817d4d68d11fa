#pragma once
// Detects that the memory of a role is back in a state it had some periods ago, so that what
// follows repeats.
//
// The state is every block of the allocator in address order with what lives in it; instances count
// by micro-batch relative to the period's shift, modulo the window, which is all that later ops
// refer to. Comparing whole states is slow, so a cheap signature proposes: when the signature of
// boundary k equals that of boundary j, the state is kept and compared in full k - j periods later.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/allocator/caching_allocator.h"
#include "sim/memory/call_period.h"
#include "sim/memory/memory_ops.h"

namespace windtunnel {

class Recurrence {
 public:
  using Instances = std::vector<CachingAllocator::Block>;  // by MemoryOps::instance

  Recurrence(const MemoryOps& ops, std::span<const CallMemory> calls, const CallPeriod& period)
      : ops_(ops), calls_(calls), period_(period) {}

  /// To be called after 1, 2, ... whole periods of the step. Returns the number of periods after
  /// which the state repeats, once that is certain.
  std::optional<int> observe(int boundary, const CachingAllocator& allocator,
                             const Instances& instances);

 private:
  struct Item {
    std::int64_t address = 0, size = 0;
    std::uint32_t content = 0;  // instance relative to the period, or the block's state
    friend bool operator==(const Item&, const Item&) = default;
  };

  std::uint64_t signature(int boundary, const CachingAllocator& allocator,
                          const Instances& instances) const;
  std::vector<Item> state(int boundary, const CachingAllocator& allocator,
                          const Instances& instances) const;

  const MemoryOps& ops_;
  std::span<const CallMemory> calls_;  // of the step
  CallPeriod period_;
  std::vector<std::uint64_t> signatures_;  // of boundaries 1, 2, ...
  std::vector<Item> kept_;                 // state of the proposal
  int kept_boundary_ = 0, proposed_ = 0;   // periods; 0: no proposal
  int failures_ = 0;
};

}  // namespace windtunnel
