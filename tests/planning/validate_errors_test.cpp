#include "planning/validate_errors.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

TEST(ErrorStatistics, ByHand) {
  // |e| sorted: 0.1 0.1 0.2 0.3 0.4
  const std::vector<double> errors = {0.1, -0.2, 0.3, -0.1, -0.4};
  const ErrorStatistics s = error_statistics(errors);
  EXPECT_EQ(s.n, 5);
  EXPECT_DOUBLE_EQ(*s.mape, 1.1 / 5);
  EXPECT_DOUBLE_EQ(*s.median_ape, 0.2);
  EXPECT_DOUBLE_EQ(*s.bias, -0.3 / 5);
  // Place 0.9 * 4 = 3.6: 0.3 + 0.6 * 0.1
  EXPECT_DOUBLE_EQ(*s.p90_ape, 0.36);
  EXPECT_DOUBLE_EQ(*s.max_ape, 0.4);
}

TEST(ErrorStatistics, OfNothingThereIsNone) {
  const ErrorStatistics s = error_statistics({});
  EXPECT_EQ(s.n, 0);
  EXPECT_FALSE(s.mape || s.median_ape || s.bias || s.p90_ape || s.max_ape);
}

TEST(Quantile, OneValueIsEveryQuantile) {
  EXPECT_DOUBLE_EQ(*quantile({7.0}, 0.0), 7.0);
  EXPECT_DOUBLE_EQ(*quantile({7.0}, 0.9), 7.0);
}

TEST(Quantile, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(*quantile({4.0, 1.0, 3.0, 2.0}, 0.5), 2.5);
}

}  // namespace
}  // namespace windtunnel
