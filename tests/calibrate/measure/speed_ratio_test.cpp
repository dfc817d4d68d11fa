// Times at one speed of the machine from times at another.

#include "calibrate/measure/speed_ratio.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-12;

TEST(SpeedRatio, ASlowerMachineTakesLonger) {
  const AnchorRates then{.flops_per_s = 10e9, .bytes_per_s = 8e9};
  const AnchorRates now{.flops_per_s = 5e9, .bytes_per_s = 16e9};
  const SpeedRatio ratio = speed_ratio(now, then);
  EXPECT_EQ(ratio.of(Pace::arithmetic), 2.0);
  EXPECT_EQ(ratio.of(Pace::copying), 0.5);
  EXPECT_NEAR(ratio.mixed(1.0), 2.0, kRounding);
  EXPECT_NEAR(ratio.mixed(0.0), 0.5, kRounding);
  EXPECT_NEAR(ratio.mixed(0.5), 1.0, kRounding);
}

TEST(SpeedRatio, WhatStaysInTheCachesGoesWithArithmetic) {
  EXPECT_EQ(pace_of(KernelClass::memory, 1e9), Pace::copying);
  EXPECT_EQ(pace_of(KernelClass::memory, 1e5), Pace::arithmetic);
  EXPECT_EQ(pace_of(KernelClass::gemm, 1e9), Pace::arithmetic);
}

TEST(SpeedRatio, ThereAndBackIsOne) {
  const AnchorRates a{.flops_per_s = 3e9, .bytes_per_s = 7e9};
  const AnchorRates b{.flops_per_s = 4e9, .bytes_per_s = 5e9};
  for (const double share : {0.0, 0.3, 1.0}) {
    EXPECT_NEAR(speed_ratio(a, b).mixed(share) * speed_ratio(b, a).mixed(share), 1.0, kRounding);
  }
  EXPECT_EQ(speed_ratio(a, a).mixed(0.7), 1.0);
}

TEST(SpeedRatio, BetweenIsTheGeometricMean) {
  const AnchorRates mean =
      between({.flops_per_s = 1e9, .bytes_per_s = 2e9}, {.flops_per_s = 4e9, .bytes_per_s = 8e9});
  EXPECT_NEAR(mean.flops_per_s, 2e9, 1.0);
  EXPECT_NEAR(mean.bytes_per_s, 4e9, 1.0);
}

}  // namespace
}  // namespace windtunnel
