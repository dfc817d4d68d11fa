// Transfers by a calibration: on the curve, beyond it, and what is scaled from others.

#include "models/cost/calibrated_transfer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-15;

Profile profile() {
  Profile p;
  p.curves.push_back({.kind = CommKind::all_reduce,
                      .ranks = 4,
                      .sigma = 0.05,
                      .source = 1,
                      .points = {{4, 1e-5}, {1 << 20, 1e-3}}});
  p.curves.push_back({.kind = CommKind::send_recv,
                      .ranks = 2,
                      .sigma = 0.1,
                      .points = {{4, 2e-6}, {1 << 20, 2e-4}}});
  return p;
}

OpCost cost(CommKind kind, int ranks, std::int64_t bytes) {
  return calibrated_transfer_cost(profile(), {kind, bytes, {.ranks = ranks, .per_node = ranks}});
}

TEST(CalibratedTransfer, OnTheCurve) {
  const OpCost c = cost(CommKind::all_reduce, 4, 2048);  // the geometric middle of 4 and 2^20
  EXPECT_NEAR(c.time.value, 1e-4, 1e-6);
  EXPECT_EQ(c.origin.basis, Basis::measured);
  EXPECT_EQ(c.sigma, 0.05);
  EXPECT_EQ(c.cls, CostClass::shared_memory);
  EXPECT_EQ(cost(CommKind::send_recv, 2, 4).time.value, 2e-6);
}

TEST(CalibratedTransfer, NoiseIsThatOfTheSize) {
  Profile p = profile();
  const auto noise = [&](std::int64_t bytes) {
    return calibrated_transfer_cost(p, {CommKind::all_reduce, bytes, {.ranks = 4, .per_node = 4}})
        .noise;
  };
  EXPECT_EQ(noise(4).sigma, 0.0) << "not known";
  p.curves.front().noise = {{.sigma = 0.5, .early = 0.2}, {.sigma = 0.1, .early = 0.0}};
  EXPECT_EQ(noise(1).sigma, 0.5);
  EXPECT_EQ(noise(4).early, 0.2);
  EXPECT_NEAR(noise(2048).sigma, 0.3, kRounding);  // the middle of 4 and 2^20
  EXPECT_NEAR(noise(2048).early, 0.1, kRounding);
  EXPECT_EQ(noise(1 << 24).sigma, 0.1);
}

TEST(CalibratedTransfer, LatencyBelowAndBandwidthAbove) {
  EXPECT_EQ(cost(CommKind::all_reduce, 4, 1).time.value, 1e-5);
  const OpCost above = cost(CommKind::all_reduce, 4, 1 << 22);
  EXPECT_NEAR(above.time.value, 4e-3, kRounding);
  EXPECT_EQ(above.origin.basis, Basis::near);
  EXPECT_GT(above.sigma, 0.05);
}

TEST(CalibratedTransfer, OtherRanksGoWithTheBytesAllMove) {
  // ranks * 2 (ranks - 1) / ranks: 2 of two ranks, 6 of four.
  const OpCost two = cost(CommKind::all_reduce, 2, 1 << 20);
  EXPECT_NEAR(two.time.value, 1e-3 / 3, kRounding);
  EXPECT_EQ(two.origin.basis, Basis::near);
  // all_gather: 3 of four ranks.
  const OpCost gather = cost(CommKind::all_gather, 4, 1 << 20);
  EXPECT_NEAR(gather.time.value, 1e-3 / 2, kRounding);
  EXPECT_EQ(gather.origin.basis, Basis::assumed);
  EXPECT_GT(gather.sigma, two.sigma);
}

TEST(CalibratedTransfer, OneRankAndNothingAreFree) {
  EXPECT_EQ(cost(CommKind::all_reduce, 1, 1000).time.value, 0.0);
  EXPECT_EQ(cost(CommKind::all_reduce, 4, 0).time.value, 0.0);
}

TEST(CalibratedTransfer, ACurveOverNodesIsNoneOfANode) {
  Profile p = profile();
  p.curves.push_back({.kind = CommKind::all_reduce,
                      .ranks = 4,
                      .nodes = 2,
                      .network = NetworkType::tcp,
                      .sigma = 0.05,
                      .points = {{4, 1e-4}, {1 << 20, 1e-1}}});
  const auto over = [&](int ranks, int nodes) {
    return calibrated_transfer_cost(
        p, {CommKind::all_reduce, 1 << 20, {.ranks = ranks, .nodes = nodes}});
  };
  EXPECT_EQ(over(4, 1).time.value, 1e-3);
  EXPECT_EQ(over(4, 2).time.value, 1e-1);
  EXPECT_EQ(over(4, 2).cls, CostClass::network);
  EXPECT_EQ(over(4, 2).origin.basis, Basis::measured);
  // Others of a network move what each rank moves: 2 (n-1)/n of the tensor.
  EXPECT_NEAR(over(8, 4).time.value, 1e-1 * (7.0 / 8.0) / (3.0 / 4.0), kRounding);
  EXPECT_EQ(over(8, 4).origin.basis, Basis::near);
  p.curves.pop_back();
  EXPECT_EQ(over(4, 2).origin.basis, Basis::assumed) << "memory says nothing of a network";
}

}  // namespace
}  // namespace windtunnel
