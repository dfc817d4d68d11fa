// Does the fit find the costs that the samples were made with?

#include "calibrate/fit/work_fit.h"

#include <gtest/gtest.h>

#include "tests/calibrate/fit/work_samples.h"

namespace windtunnel {
namespace {

constexpr double kExact = 1e-6;  // relative: rounding of a system of condition 1e4
// 60 samples with 5 % noise leave each coefficient with a standard error of 5 % / sqrt(60 / 3) =
// 1.1 %, more where its term is small; four of them.
constexpr double kNoise = 0.05;
constexpr double kNoisyBound = 0.06;

void expect_near_relative(double got, double truth, double bound) {
  EXPECT_NEAR(got / truth, 1.0, bound);
}

TEST(WorkFit, FindsTheTruthWithoutNoise) {
  const TrueKernel truth;
  const WorkFit fit = fit_work(samples_of(truth, 12));
  expect_near_relative(fit.fixed_s, truth.fixed_s, kExact);
  expect_near_relative(fit.seconds_per_flop, truth.per_flop, kExact);
  expect_near_relative(fit.seconds_per_byte, truth.per_byte, kExact);
  EXPECT_EQ(fit.kept, 12);
}

TEST(WorkFit, FindsTheTruthInNoise) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const TrueKernel truth{.noise = kNoise, .seed = seed};
    const WorkFit fit = fit_work(samples_of(truth, 60));
    expect_near_relative(fit.fixed_s, truth.fixed_s, kNoisyBound);
    expect_near_relative(fit.seconds_per_flop, truth.per_flop, kNoisyBound);
    expect_near_relative(fit.seconds_per_byte, truth.per_byte, 2 * kNoisyBound);
  }
}

TEST(WorkFit, IgnoresOutliers) {
  const TrueKernel truth{.noise = 0.01};
  std::vector<WorkSample> samples = samples_of(truth, 40);
  for (std::size_t i = 0; i < samples.size(); i += 8) samples[i].seconds *= 5.0;
  samples[3].seconds *= 0.2;
  const WorkFit fit = fit_work(samples);
  EXPECT_GE(fit.dropped, 6);
  expect_near_relative(fit.fixed_s, truth.fixed_s, kNoisyBound);
  expect_near_relative(fit.seconds_per_flop, truth.per_flop, kNoisyBound);
  expect_near_relative(fit.seconds_per_byte, truth.per_byte, kNoisyBound);
}

TEST(WorkFit, CoefficientsAreNotNegative) {
  // Larger is faster per byte than a line through the small ones: a free fit has a negative part.
  std::vector<WorkSample> samples;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
    samples.push_back({.bytes = bytes, .seconds = 1e-13 * bytes * bytes});
  }
  const WorkFit fit = fit_work(samples);
  EXPECT_GE(fit.fixed_s, 0.0);
  EXPECT_GE(fit.seconds_per_byte, 0.0);
  EXPECT_EQ(fit.seconds_per_flop, 0.0);
}

TEST(WorkFit, KernelsOfBytesAloneHaveNoFlops) {
  const TrueKernel truth{.per_flop = 0.0};
  std::vector<WorkSample> samples = samples_of(truth, 20);
  for (WorkSample& s : samples) s.flops = 0.0;
  const WorkFit fit = fit_work(samples);
  EXPECT_EQ(fit.seconds_per_flop, 0.0);
  expect_near_relative(fit.seconds_per_byte, truth.per_byte, kExact);
  EXPECT_EQ(fit.flops.most, 0.0);
}

TEST(WorkFit, OneSampleIsItsWork) {
  const WorkFit gemm =
      fit_work(std::vector<WorkSample>{{.flops = 1e6, .bytes = 1e4, .seconds = 1e-3}});
  EXPECT_NEAR(gemm.seconds_per_flop, 1e-9, 1e-18);
  EXPECT_EQ(gemm.fixed_s, 0.0);
  const WorkFit copy = fit_work(std::vector<WorkSample>{{.bytes = 1e4, .seconds = 1e-3}});
  EXPECT_NEAR(copy.seconds_per_byte, 1e-7, 1e-16);
  const WorkFit nothing = fit_work(std::vector<WorkSample>{{.seconds = 1e-3}});
  EXPECT_NEAR(nothing.fixed_s, 1e-3, 1e-12);
}

TEST(WorkFit, SamplesOfOneSizeAreTheirMedian) {
  std::vector<WorkSample> samples(9, {.flops = 1e6, .bytes = 1e4, .seconds = 1e-3});
  samples[0].seconds = 1e-1;
  const WorkFit fit = fit_work(samples);
  EXPECT_NEAR(fit.seconds(1e6, 1e4), 1e-3, 1e-6);
  EXPECT_EQ(fit.seconds_per_byte, 0.0);
}

TEST(WorkFit, KeepsTheRangeOfItsSamples) {
  const std::vector<WorkSample> samples = {{.flops = 10, .bytes = 5, .seconds = 1},
                                           {.flops = 20, .bytes = 4, .seconds = 2}};
  const WorkFit fit = fit_work(samples);
  EXPECT_EQ(fit.flops.least, 10);
  EXPECT_EQ(fit.flops.most, 20);
  EXPECT_EQ(fit.bytes.least, 4);
  EXPECT_EQ(fit.bytes.most, 5);
}

}  // namespace
}  // namespace windtunnel
