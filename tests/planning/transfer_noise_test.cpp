// From measured noise of transfers to what the engine draws: closed forms of the largest of n
// normal draws (H. A. David, Order Statistics, 1970, section 3.2), and the engine's range.

#include "planning/transfer_noise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-9;

TEST(LargestDraw, HasItsClosedForms) {
  const LargestDraw two = largest_draw(2), three = largest_draw(3);
  EXPECT_NEAR(two.mean, 1 / std::sqrt(M_PI), kRounding);
  EXPECT_NEAR(two.variance, 1 - 1 / M_PI, kRounding);
  EXPECT_NEAR(three.mean, 1.5 / std::sqrt(M_PI), kRounding);
  EXPECT_NEAR(three.variance, 1 + std::sqrt(3.0) / (2 * M_PI) - 2.25 / M_PI, kRounding);
  double before = three.mean;
  for (int n = 4; n <= 4096; n *= 2) {
    EXPECT_GT(largest_draw(n).mean, before);
    before = largest_draw(n).mean;
  }
}

TEST(DrawnNoise, AMessageHasAllItsNoiseInCommon) {
  const TransferNoise drawn = drawn_noise({.sigma = 0.1, .early = 0.4}, 1);
  EXPECT_EQ(drawn.group, 0.1);
  EXPECT_EQ(drawn.member, 0.0);
  EXPECT_EQ(drawn.early, 0.0);
}

TEST(DrawnNoise, TheLastMemberEndsAsMeasured) {
  for (const int n : {2, 8, 64}) {
    const CallNoise measured{.sigma = 0.08, .early = 0.05};
    const TransferNoise drawn = drawn_noise(measured, n);
    const LargestDraw last = largest_draw(n);
    // Mean of the last end over the price, and its variance.
    EXPECT_NEAR((1 - drawn.early) * (1 + drawn.member * last.mean), 1.0, kRounding);
    const double own = (1 - drawn.early) * drawn.member;
    EXPECT_NEAR(drawn.group * drawn.group + own * own * last.variance, 0.08 * 0.08, kRounding);
    EXPECT_EQ(drawn.early, 0.05);
  }
}

TEST(DrawnNoise, StaysInTheEnginesRange) {
  const TransferNoise drawn = drawn_noise({.sigma = 3.0, .early = 1.0}, 2);
  EXPECT_EQ(drawn.group, 0.25);
  EXPECT_NEAR(drawn.member, 0.25, kRounding);
  EXPECT_LE(drawn.member, 0.25);
  EXPECT_NEAR((1 - drawn.early) * (1 + drawn.member * largest_draw(2).mean), 1.0, kRounding);
  // The members' own draws may be all there is.
  EXPECT_EQ(drawn_noise({.sigma = 0.01, .early = 0.1}, 2).group, 0.0);
}

}  // namespace
}  // namespace windtunnel
