// How long do kernels that only take their time take?

#include "runtime/emulated_compute.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

TEST(EmulatedCompute, WithoutNoiseTheProfilesTime) {
  const EmulatedCompute times{.seconds = {0.25, 2.0}};
  EXPECT_EQ(times.length(1, 3, 4, 5), 2.0);
}

TEST(EmulatedCompute, SlowRanksRestLonger) {
  const EmulatedCompute times{.seconds = {2.0}, .slowdown = {{3, 1.5}}};
  EXPECT_EQ(times.length(0, 3, 0, 0), 3.0);
  EXPECT_EQ(times.length(0, 2, 0, 0), 2.0);
}

TEST(EmulatedCompute, NoiseIsAboutTheProfilesTime) {
  constexpr int kRuns = 4000;
  constexpr double kNoise = 0.2, kBound = 5.0 * kNoise / 63.0;  // of a mean, sigma / sqrt(n)
  const EmulatedCompute times{.seconds = {1.0}, .noise = kNoise};
  double sum = 0.0;
  for (std::size_t run = 0; run < kRuns; ++run) {
    const double length = times.length(0, 1, 0, run);
    EXPECT_GE(length, 0.1);
    sum += length;
  }
  EXPECT_NEAR(sum / kRuns, 1.0, kBound);
  EXPECT_NE(times.length(0, 1, 0, 0), times.length(0, 2, 0, 0)) << "on each rank by itself";
  EXPECT_NE(times.length(0, 1, 0, 0), times.length(0, 1, 1, 0)) << "in each step by itself";
}

TEST(EmulatedCompute, ARestNeverEndsEarly) {
  for (const int microseconds : {0, 5, 100, 2000}) {
    const auto until = StepClock::Clock::now() + std::chrono::microseconds(microseconds);
    rest_until(until);
    EXPECT_GE(StepClock::Clock::now(), until);
  }
}

}  // namespace
}  // namespace windtunnel
