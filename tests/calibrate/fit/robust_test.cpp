// Medians, spreads, and which values are outliers.

#include "calibrate/fit/robust.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/counter_random.h"

namespace windtunnel {
namespace {

TEST(Robust, Median) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(std::vector<double>{5}), 5);
}

TEST(Robust, DropsWhatTheRuleSays) {
  // Median 10, absolute deviations 0 1 1 1 2 90: MAD 1; 3.5 * 1.4826 = 5.2.
  const RobustSummary s = summarise(std::vector<double>{9, 10, 11, 9, 12, 100, 10});
  EXPECT_EQ(s.dropped, 1);
  EXPECT_EQ(s.kept, 6);
  EXPECT_EQ(s.median, 10);
}

TEST(Robust, MeanAndNoiseAreOfAll) {
  const RobustSummary s = summarise(std::vector<double>{1, 1, 6, 1, 1});
  EXPECT_EQ(s.dropped, 1);
  EXPECT_EQ(s.mean, 2.0);
  // Two of the four steps from one to the next are 5, on average 2.5; sqrt(pi) / 2 * 2.5 / 2.
  EXPECT_NEAR(s.noise, 1.1077836, 1e-7);
}

TEST(Robust, WhatLastsIsNoNoise) {
  std::vector<double> values(200, 1.0);
  std::fill(values.begin() + 100, values.end(), 2.0);
  EXPECT_LT(summarise(values).noise, 0.01);
}

TEST(Robust, NoiseOfANormalIsItsDeviation) {
  constexpr int kValues = 4000;
  constexpr double kSigma = 0.1,
                   kBound = 5.0 * kSigma / 63.0;  // its own error: about sigma / sqrt(n)
  std::vector<double> values;
  for (std::uint64_t i = 0; i < kValues; ++i)
    values.push_back(1.0 + kSigma * to_normal(counter_hash(1, i)));
  EXPECT_NEAR(summarise(values).noise, kSigma, kBound);
}

TEST(Robust, EqualValuesKeepEachOther) {
  const RobustSummary s = summarise(std::vector<double>{1.0, 1.0, 1.0, 1.001, 1.0});
  EXPECT_EQ(s.dropped, 0);
  EXPECT_EQ(s.median, 1.0);
  EXPECT_EQ(summarise(std::vector<double>{2.0}).sigma, 0.0);
}

TEST(Robust, SpreadOfANormalIsItsSigma) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    values.push_back(1.0 + 0.03 * to_normal(counter_hash(3, i)));
  }
  for (std::size_t i = 0; i < values.size(); i += 10) values[i] *= 4.0;  // a tenth is far too long
  const RobustSummary s = summarise(values);
  // The standard error of a spread from a MAD of 2000 is 2.6 %, a tenth of bias from the long ones.
  EXPECT_NEAR(s.sigma, 0.03, 0.004);
  EXPECT_NEAR(s.median, 1.0, 0.01);
  EXPECT_GE(s.dropped, 200);
}

}  // namespace
}  // namespace windtunnel
