#pragma once
// Compute that only takes its time: kernels become rests of a stated length, so that more ranks
// than cores can run a plan's schedule and transfers for real.

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/step_clock.h"

namespace windtunnel {

struct EmulatedCompute {
  std::vector<double> seconds;  // of one run, by shape of the program
  double noise = 0.0;           // relative standard deviation of a run's time
  std::uint64_t seed = 1;
  std::map<int, double> slowdown{};  // by rank: how many times as long; others: 1

  /// Seconds of the `run`-th kernel of a rank's step: a normal about the shape's, and at least a
  /// tenth of it.
  double length(std::uint32_t shape, int rank, int step, std::size_t run) const;
};

/// Returns when the clock shows `until`: the calling thread sleeps, and looks at the clock at the
/// end of it, for a sleeper is woken late.
void rest_until(StepClock::Clock::time_point until);

}  // namespace windtunnel
