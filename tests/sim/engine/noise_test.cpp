// Noise of transfers: what members of a group share, what each draws by itself, and that it slows
// no transfer by sharing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/engine/lane_grid.h"
#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/toy_program.h"

namespace windtunnel {
namespace {

using toy::Toy;
using toy::units;

constexpr double kPrice = 1000;  // of the transfer under test, units

/// A collective of two tensor-parallel ranks in each of 512 replicas, alone in its step.
Toy pairs(Stream stream, TransferNoise noise) {
  Toy toy({.tp = 2, .dp = 512});
  const auto tp = toy.comm("tp", kAxisTp);
  toy.segment("step");
  toy.collective(tp, units(kPrice), stream);
  toy.call(0, 0);
  toy.costs.jitter = {.seed = 5, .transfers = {noise}};
  return toy;
}

/// [tp][dp]: end over price.
std::vector<std::vector<double>> ends(const Toy& toy) {
  const StepTiming timing = simulate_step(toy.program, toy.costs, {.trace = true});
  std::vector<std::vector<double>> result(2, std::vector<double>(512));
  for (const TraceRecord& r : timing.trace.records) {
    const Coordinates at = timing.grid.coordinates_of(static_cast<int>(r.lane), 0);
    result[static_cast<std::size_t>(at.tp)][static_cast<std::size_t>(at.dp)] =
        static_cast<double>(r.end) / static_cast<double>(units(kPrice));
  }
  return result;
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / static_cast<double>(values.size());
  for (const double v : values) m.deviation += (v - m.mean) * (v - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size()));
  return m;
}

class NoiseOnStream : public testing::TestWithParam<Stream> {};

TEST_P(NoiseOnStream, WhatAGroupSharesMovesAllItsMembers) {
  const auto at = ends(pairs(GetParam(), {.group = 0.05}));
  EXPECT_EQ(at[0], at[1]);
  const Moments m = moments(at[0]);
  EXPECT_NEAR(m.mean, 1.0, 4 * 0.05 / std::sqrt(512.0));  // four standard errors
  EXPECT_NEAR(m.deviation, 0.05, 4 * 0.05 / std::sqrt(2 * 512.0));
}

TEST_P(NoiseOnStream, MembersEndApartAndTheLastAtThePrice) {
  // Two draws: the larger is 1 / sqrt(pi) deviations above the mean.
  const double member = 0.1;
  const double early = 1.0 - 1.0 / (1.0 + member / std::sqrt(M_PI));
  const auto at = ends(pairs(GetParam(), {.member = member, .early = early}));
  std::vector<double> own, last;
  for (std::size_t dp = 0; dp < 512; ++dp) {
    own.push_back(at[0][dp]);
    own.push_back(at[1][dp]);
    last.push_back(std::max(at[0][dp], at[1][dp]));
  }
  const double deviation = member * (1.0 - early);
  EXPECT_NEAR(moments(own).mean, 1.0 - early, 4 * deviation / std::sqrt(1024.0));
  EXPECT_NEAR(moments(own).deviation, deviation, 4 * deviation / std::sqrt(2048.0));
  EXPECT_NEAR(moments(last).mean, 1.0, 4 * deviation / std::sqrt(512.0));
}

TEST_P(NoiseOnStream, EarlyAloneIsAFractionOfThePrice) {
  for (const auto& of_tp : ends(pairs(GetParam(), {.early = 0.25}))) {
    for (const double end : of_tp) EXPECT_EQ(end, 0.75);
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, NoiseOnStream, testing::Values(Stream::compute, Stream::tp));

TEST(Noise, AMessageEndsAtTheSameTimeOnBothSidesAndElsewhereAtAnother) {
  Toy toy({.tp = 64, .pp = 2});
  const auto pp = toy.comm("pp_fwd", kAxisPp);
  toy.segment("first");
  toy.send(1, pp, units(kPrice), Stream::pp_send_fwd);
  toy.segment("second");
  toy.recv(0, pp, Stream::pp_recv_fwd);
  toy.call(0, 0);
  toy.call(1, 1);
  toy.costs.jitter = {.seed = 2, .transfers = {{.group = 0.1}, {}}};
  const StepTiming timing = simulate_step(toy.program, toy.costs, {.trace = true});
  std::vector<std::vector<double>> of_role(2, std::vector<double>(64));
  for (const TraceRecord& r : timing.trace.records) {
    of_role[static_cast<std::size_t>(r.role)][static_cast<std::size_t>(r.lane)] =
        static_cast<double>(r.end) / static_cast<double>(units(kPrice));
  }
  EXPECT_EQ(of_role[0], of_role[1]);
  EXPECT_NEAR(moments(of_role[0]).deviation, 0.1, 4 * 0.1 / std::sqrt(2 * 64.0));
}

TEST(Noise, OfAFullLinkSlowsNoTransferThatIsAlone) {
  Toy toy = pairs(Stream::tp, {.group = 0.1, .member = 0.05, .early = 0.02});
  const StepTiming plain = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  LinkFlows& flows = toy.costs.flows;
  flows.of_role.assign(1, {{.pattern = 0, .work = kPrice, .latency = units(10)}});
  flows.patterns.push_back({.folded = {{0, 512.0}}, .by_lane = {}});
  for (int lane = 0; lane < 1024; ++lane) {
    // A link per group, as fast as the group's transfer is by its price.
    flows.patterns[0].by_lane.emplace_back();
    if (lane < 512)
      flows.patterns[0].by_lane.back().push_back({static_cast<std::uint32_t>(lane), 1.0});
    flows.capacity.push_back(kPrice / from_picoseconds(units(kPrice - 10)).value * (1 + 1e-9));
  }
  const StepTiming shared = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  EXPECT_EQ(shared.sharing.slowed, 0);
  EXPECT_EQ(shared.sharing.rounds, 1);
  EXPECT_EQ(shared.roles[0].end, plain.roles[0].end);
}

TEST(Noise, AFlowGoesOnUntilItsLastMemberEnds) {
  // Two groups that each fill the one link: twice the price, however early their members end.
  Toy toy({.tp = 2, .dp = 2});
  const auto tp = toy.comm("tp", kAxisTp);
  toy.segment("step");
  toy.collective(tp, units(kPrice), Stream::tp);
  toy.call(0, 0);
  toy.costs.jitter = {.seed = 5, .transfers = {{.member = 0.1, .early = 0.05}}};
  const StepTiming plain = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  LinkFlows& flows = toy.costs.flows;
  flows.capacity = {kPrice / from_picoseconds(units(kPrice)).value};
  flows.of_role.assign(1, {{.pattern = 0, .work = kPrice, .latency = 0}});
  flows.patterns.push_back({.folded = {{0, 2.0}}, .by_lane = {{{0, 1.0}}, {{0, 1.0}}, {}, {}}});
  const StepTiming shared = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  // Both groups' work has passed when the later of them ends.
  Picoseconds both = 0;
  for (int dp = 0; dp < 2; ++dp) {
    both += std::max(plain.roles[0].end[static_cast<std::size_t>(dp)],
                     plain.roles[0].end[static_cast<std::size_t>(dp) + 2]);
  }
  EXPECT_NEAR(static_cast<double>(shared.step_time[0]), static_cast<double>(both), 100.0);
}

TEST(Noise, AGroupsLeadIsItsFirstMemberOfTheSameDraw) {
  const LaneGrid grid = unfolded_grid({.tp = 2, .dp = 3}, 2);
  const std::vector<int> tp = group_leads(grid, {.axes = kAxisTp}),
                         dp = group_leads(grid, {.axes = kAxisDp});
  EXPECT_EQ(tp, (std::vector<int>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(dp, (std::vector<int>{0, 1, 0, 1, 0, 1, 6, 7, 6, 7, 6, 7}));
}

TEST(Noise, OutOfRangeIsRefused) {
  for (const TransferNoise& noise :
       {TransferNoise{.group = 0.3}, TransferNoise{.member = 0.3}, TransferNoise{.early = 0.95}}) {
    const Toy toy = pairs(Stream::compute, noise);
    EXPECT_THROW(simulate_step(toy.program, toy.costs), std::logic_error);
  }
}

}  // namespace
}  // namespace windtunnel
