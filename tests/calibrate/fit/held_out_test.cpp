// Is the error on held-out samples that of the noise, and is it held out at all?

#include "calibrate/fit/held_out.h"

#include <gtest/gtest.h>

#include "tests/calibrate/fit/work_samples.h"

namespace windtunnel {
namespace {

constexpr double kNoise = 0.05;
// Mean of |x| of a normal: sigma sqrt(2/pi).
constexpr double kMeanOfNoise = 0.798 * kNoise;

TEST(HeldOut, IsTheNoise) {
  // 30 of 200 samples: their mean has a standard error of 0.6 sigma / sqrt(30) = 11 %; three.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const FitError error = fit_error(samples_of({.noise = kNoise, .seed = seed}, 200), 7);
    EXPECT_EQ(error.held_out, 30);
    EXPECT_NEAR(error.mape() / kMeanOfNoise, 1.0, 0.35) << seed;
    EXPECT_GT(error.p90(), error.mape());
  }
}

TEST(HeldOut, AModelThatDoesNotFitIsFoundOut) {
  std::vector<WorkSample> samples = samples_of({}, 100);
  for (WorkSample& s : samples) s.seconds *= s.flops > 1e6 ? 3.0 : 1.0;
  EXPECT_GT(fit_error(samples, 1).mape(), 0.1);
}

TEST(HeldOut, TheSeedChooses) {
  const std::vector<WorkSample> samples = samples_of({.noise = kNoise}, 60);
  EXPECT_EQ(fit_error(samples, 1).errors, fit_error(samples, 1).errors);
  EXPECT_NE(fit_error(samples, 1).errors, fit_error(samples, 2).errors);
}

TEST(HeldOut, FewSamplesAreNotHeldOut) {
  const FitError few = fit_error(samples_of({.noise = kNoise}, 6), 1);
  EXPECT_EQ(few.held_out, 0);
  EXPECT_EQ(few.errors.size(), 6U);
  EXPECT_EQ(fit_error(samples_of({.noise = kNoise}, 7), 1).held_out, 1);
  EXPECT_EQ(fit_error({}, 1).mape(), 0.0);
}

TEST(HeldOut, Percentile) {
  FitError error;
  for (int i = 10; i >= 1; --i) error.errors.push_back(i);
  EXPECT_EQ(error.p90(), 9.0);
  EXPECT_EQ(error.mape(), 5.5);
  const FitError other{.errors = {0.5}, .held_out = 2};
  const FitError all = pooled(std::vector<FitError>{error, other});
  EXPECT_EQ(all.errors.size(), 11U);
  EXPECT_EQ(all.held_out, 2);
}

}  // namespace
}  // namespace windtunnel
