#include "runtime/emulated_compute.h"

#include <algorithm>
#include <thread>

#include "core/counter_random.h"
#include "core/precise_sleep.h"

namespace windtunnel {

namespace {

constexpr double kLeastShare = 0.1;  // of a kernel's time, however the draw falls
constexpr auto kWakesLate = std::chrono::microseconds(30);  // a sleeper, mostly less

}  // namespace

double EmulatedCompute::length(std::uint32_t shape, int rank, int step, std::size_t run) const {
  const auto slow = slowdown.find(rank);
  const double mean = seconds.at(shape) * (slow == slowdown.end() ? 1.0 : slow->second);
  if (noise == 0.0) return mean;
  const std::uint64_t hash =
      counter_hash(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step), run);
  return mean * std::max(kLeastShare, 1.0 + noise * to_normal(hash));
}

void rest_until(StepClock::Clock::time_point until) {
  precise_sleep_until(until - kWakesLate);
  while (StepClock::Clock::now() < until) std::this_thread::yield();
}

}  // namespace windtunnel
