// Do curves go through what was measured, rising?

#include "calibrate/fit/curve_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/counter_random.h"
#include "models/cost/figure.h"

namespace windtunnel {
namespace {

TEST(CurveFit, GoesThroughTheMedians) {
  const CurveFit fit = fit_curve(std::vector<TransferTimes>{
      {.bytes = 1024, .seconds = {2e-5, 2.1e-5, 9e-4}}, {.bytes = 4, .seconds = {1e-5}}});
  ASSERT_EQ(fit.points.size(), 2U);
  EXPECT_EQ(fit.points[0], std::make_pair(4.0, 1e-5));
  EXPECT_EQ(fit.points[1].first, 1024);
  EXPECT_NEAR(fit.points[1].second, 2.05e-5, 1e-12);
}

TEST(CurveFit, NeverFalls) {
  const CurveFit fit = fit_curve(std::vector<TransferTimes>{{.bytes = 4, .seconds = {2e-5}},
                                                            {.bytes = 8, .seconds = {1e-5}},
                                                            {.bytes = 16, .seconds = {4e-5}}});
  EXPECT_NEAR(fit.points[0].second, std::sqrt(2.0) * 1e-5, 1e-12);
  EXPECT_NEAR(fit.points[1].second, std::sqrt(2.0) * 1e-5, 1e-12);
  EXPECT_EQ(fit.points[2].second, 4e-5);
  EXPECT_GT(fit.sigma, 0.3);  // two of three points are off by a factor of 1.4
}

TEST(CurveFit, SigmaIsThatOfTheRepetitions) {
  std::vector<TransferTimes> sizes;
  for (std::uint64_t i = 0; i < 10; ++i) {
    TransferTimes t{.bytes = std::exp2(2.0 * static_cast<double>(i)), .seconds = {}};
    for (std::uint64_t k = 0; k < 50; ++k) {
      t.seconds.push_back((1e-5 + 1e-9 * t.bytes) *
                          std::exp(0.1 * to_normal(counter_hash(5, i, k))));
    }
    sizes.push_back(std::move(t));
  }
  EXPECT_NEAR(fit_curve(sizes).sigma, 0.1, 0.015);  // 500 values: a standard error of 5 %, three
  EXPECT_EQ(fit_curve(std::vector<TransferTimes>{{.bytes = 4, .seconds = {1e-5}}}).sigma, 0.01);
}

/// A machine that stalls for seconds leaves what a profile can still say.
TEST(CurveFit, SigmaStaysWithinAProfiles) {
  const CurveFit fit = fit_curve(
      std::vector<TransferTimes>{{.bytes = 4, .seconds = {10.0}}, {.bytes = 8, .seconds = {1e-6}}});
  EXPECT_EQ(fit.sigma, kLargestSigma);
}

}  // namespace
}  // namespace windtunnel
