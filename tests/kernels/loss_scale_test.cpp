// The state machine of loss scaling: growth, backing off, hysteresis, and what unscaling tells.

#include "kernels/reference/loss_scale.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace windtunnel::reference {
namespace {

using State = std::array<double, kLossScaleState>;

State started(std::int64_t log2_scale, std::int64_t hysteresis) {
  State s{};
  start_loss_scale<double>(log2_scale, hysteresis, s.data());
  return s;
}

TEST(LossScale, DoublesAfterAnIntervalOfFiniteSteps) {
  State s = started(16, 1);
  EXPECT_EQ(s[kScale], 65536.0);
  constexpr LossScaleRules kRules{.growth_interval = 3, .hysteresis = 1};
  for (int step = 0; step < 2; ++step) update_loss_scale(kRules, 0.0, s.data());
  EXPECT_EQ(s[kScale], 65536.0);
  update_loss_scale(kRules, 0.0, s.data());
  EXPECT_EQ(s[kScale], 131072.0);
  EXPECT_EQ(s[kFiniteSteps], 0.0);
  EXPECT_EQ(s[kSkippedSteps], 0.0);
}

TEST(LossScale, HalvesAtAnOverflowAndCountsAnew) {
  State s = started(16, 1);
  constexpr LossScaleRules kRules{.growth_interval = 2, .hysteresis = 1};
  update_loss_scale(kRules, 0.0, s.data());
  update_loss_scale(kRules, 1.0, s.data());
  EXPECT_EQ(s[kScale], 32768.0);
  EXPECT_EQ(s[kFiniteSteps], 0.0);
  EXPECT_EQ(s[kSkippedSteps], 1.0);
  update_loss_scale(kRules, 0.0, s.data());
  EXPECT_EQ(s[kScale], 32768.0);
}

TEST(LossScale, HysteresisSparesUntilAnIntervalRenewsIt) {
  State s = started(32, 2);
  constexpr LossScaleRules kRules{.growth_interval = 1, .hysteresis = 2};
  update_loss_scale(kRules, 1.0, s.data());
  EXPECT_EQ(s[kScale], 4294967296.0);
  update_loss_scale(kRules, 1.0, s.data());
  EXPECT_EQ(s[kScale], 2147483648.0);
  update_loss_scale(kRules, 0.0, s.data());
  EXPECT_EQ(s[kScale], 4294967296.0);
  update_loss_scale(kRules, 1.0, s.data());
  EXPECT_EQ(s[kScale], 4294967296.0) << "spared again";
}

TEST(LossScale, NeverFallsBelowOne) {
  State s = started(0, 1);
  update_loss_scale({}, 1.0, s.data());
  EXPECT_EQ(s[kScale], 1.0);
}

TEST(LossScale, UnscalingDividesAndTellsWhatIsNotFinite) {
  const State s = started(3, 1);
  std::array<double, 2> g{16.0, -8.0};
  double found = 0.0;
  unscale<double>(2, s.data(), g.data(), &found);
  EXPECT_EQ(g, (std::array{2.0, -1.0}));
  EXPECT_EQ(found, 0.0);
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    found = 0.0;
    g[1] = bad;
    unscale<double>(2, s.data(), g.data(), &found);
    EXPECT_EQ(found, 1.0);
  }
}

TEST(LossScale, TheFieldDividesExactly) {
  std::array<Field, kLossScaleState> s{};
  start_loss_scale<Field>(32, 2, s.data());
  Field g = s[kScale] * Field{12345}, found{};
  unscale<Field>(1, s.data(), &g, &found);
  EXPECT_EQ(g, Field{12345});
  EXPECT_EQ(found, Field{});
}

}  // namespace
}  // namespace windtunnel::reference
