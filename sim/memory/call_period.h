#pragma once
// The repeating part of a step: a range of calls where each does what the call one period earlier
// did, for micro-batches `shift` later. 1F1B repeats every 2 calls, interleaving with v chunks
// every 2 v p; steps without such a part have an empty range.

#include <span>

#include "sim/memory/memory_ops.h"

namespace windtunnel {

/// Calls [begin, end): call i + length equals call i with `shift` added to the micro-batch.
struct CallPeriod {
  int begin = 0, end = 0;
  int length = 0;
  int shift = 0;

  int periods() const { return length > 0 ? (end - begin) / length : 0; }
};

/// The longest range with at least `kLeastPeriods` periods, found from the middle of the step.
/// Typically O(calls), at worst O(calls^2).
CallPeriod find_period(std::span<const CallMemory> calls);

/// With fewer there is nothing to gain: recurrence shows after two.
constexpr int kLeastPeriods = 4;

}  // namespace windtunnel
