// From measured noise of transfers to what the engine draws: the largest of n draws, and the
// engine's range.

#include "planning/transfer_noise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-6;  // of the integral

TEST(LargestDraw, OfTwoIsHalfTheirMeanDifference) {
  // E max(X, Y) = E|X - Y| / 2, and X - Y of sums of four uniforms is a sum of eight less 4, whose
  // mean absolute value is 1487/2268 (integrated piece by piece); E max^2 = 1.
  const LargestDraw two = largest_draw(2);
  EXPECT_NEAR(two.mean, std::sqrt(3.0) * 1487 / 2268 / 2, kRounding);
  EXPECT_NEAR(two.variance, 1 - two.mean * two.mean, kRounding);
}

TEST(LargestDraw, GrowsWithTheirNumberUpToTheLargestSum) {
  double before = largest_draw(2).mean;
  for (int n = 3; n <= 1 << 20; n *= 2) {
    EXPECT_GT(largest_draw(n).mean, before);
    EXPECT_LT(largest_draw(n).mean, 2 * std::sqrt(3.0));
    EXPECT_GT(largest_draw(n).variance, 0.0);
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
}

TEST(DrawnNoise, VariesNoMoreThanMeasuredWhereAPlaceIsAlwaysEarly) {
  for (const int n : {2, 8}) {
    const TransferNoise drawn = drawn_noise({.sigma = 0.08, .early = 0.5}, n);
    const double own = (1 - drawn.early) * drawn.member;
    EXPECT_NEAR(own * own * largest_draw(n).variance, 0.08 * 0.08, kRounding);
    EXPECT_NEAR(drawn.group, 0.0, 1e-3);
    EXPECT_NEAR((1 - drawn.early) * (1 + drawn.member * largest_draw(n).mean), 1.0, kRounding);
  }
}

/// An op on each communicator, priced with the same noise.
std::vector<TransferNoise> of_comms(const Mesh& mesh, const std::vector<Comm>& comms) {
  Program program;
  program.mesh = mesh;
  program.comms = comms;
  PricedProgram priced;
  priced.items = {{.cost = {.time = {1.0}, .noise = {.sigma = 0.1, .early = 0.05}}}};
  for (std::uint32_t c = 0; c < comms.size(); ++c) {
    program.ops.push_back({.kind = OpKind::collective, .comm = c});
    priced.item_of_op.push_back(0);
  }
  program.ops.push_back({.kind = OpKind::compute});
  priced.item_of_op.push_back(kNone);
  return transfer_noise(program, priced);
}

TEST(TransferNoise, StagesHaveOneDraw) {
  const std::vector<TransferNoise> noise =
      of_comms({.tp = 4, .pp = 2}, {{.name = "tp", .axes = kAxisTp},
                                    {.name = "model", .axes = kAxisTp | kAxisPp},
                                    {.name = "embedding", .axes = kAxisPp, .stage_pair = 0}});
  EXPECT_EQ(noise[0].member, drawn_noise({.sigma = 0.1, .early = 0.05}, 4).member);
  EXPECT_EQ(noise[1].member, noise[0].member);
  EXPECT_EQ(noise[2].early, 0.0);
  EXPECT_EQ(noise[2].group, 0.1);
  EXPECT_FALSE(noise[3].any());
}

}  // namespace
}  // namespace windtunnel
