// Are a program's flows what its prices and its cluster say, and does sharing the network change a
// step only where communicators meet?

#include "planning/price_flows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/cost/profile_cost.h"
#include "planning/simulate.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

/// Ends are rounded to picoseconds, in another order for m flows than for one of weight m; a step
/// has some thousand transfers.
constexpr Picoseconds kFolding = 10'000;

Scenario scenario(const std::string& plan, int nodes) {
  const std::string text =
      "model: {layers: 4, hidden: 4096, ffn: 14336, heads: 32, vocab: 32768}\n"
      "cluster: {device: h100-sxm-80gb, devices_per_node: 8, nodes: " +
      std::to_string(nodes) +
      ", network: {nics_per_node: 8, nic_bandwidth: 200 Gbit/s, kind: ib}}\n"
      "batch: {global: 64, micro: 4, sequence: 4096}\n"
      "stack: {framework: nanotron}\nplan: " +
      plan + "\n";
  return load_scenarios_text(text, "test.yaml").scenarios.front();
}

struct Priced {
  Lowered lowered;
  ProfileCostModel model;
  PricedProgram priced;

  explicit Priced(const Scenario& s)
      : lowered(lower_scenario(s)),
        model(load_public_profile(s.cluster.device)),
        priced(price(lowered.program, model, s.cluster, {})) {}

  LinkFlows flows(Ranks ranks) const {
    return price_flows({.program = lowered.program,
                        .priced = priced,
                        .model = model,
                        .cluster = lowered.resolved.scenario.cluster,
                        .speeds = {.nic_share = 0.9},
                        .ranks = ranks});
  }
  StepTiming step(const LinkFlows& flows, Ranks ranks) const {
    StepCosts costs = priced.costs;
    costs.flows = flows;
    return simulate_step(lowered.program, costs, {.ranks = ranks});
  }
};

/// Tensor-parallel groups over two nodes, gradients reduced beside the backward.
constexpr const char* kTensorOverNodes = "{preset: nanotron, tp: 16, sharding: {kind: none}}";
/// A pipeline over nodes, both directions and the replicas' gradients on the same NICs.
constexpr const char* kPipelineOverNodes =
    "{preset: megatron, tp: 8, pp: 2, schedule: {kind: interleaved_1f1b, virtual_stages: 2}, "
    "sharding: {kind: none}}";

TEST(PriceFlows, OneNodeHasNoFlows) {
  const Priced p(scenario("{tp: 4}", 1));
  EXPECT_FALSE(p.flows(Ranks::folded).any());
}

TEST(PriceFlows, OneCommunicatorOnTheNetworkHasNoFlows) {
  const Priced p(scenario("{tp: 8}", 4));  // dp alone leaves the nodes
  EXPECT_FALSE(p.flows(Ranks::folded).any());
}

TEST(PriceFlows, AloneEveryTransferFitsItsLinks) {
  for (const char* plan : {kTensorOverNodes, kPipelineOverNodes}) {
    const Priced p(scenario(plan, 4));
    const LinkFlows flows = p.flows(Ranks::folded);
    ASSERT_TRUE(flows.any()) << plan;
    for (const auto& of_op : flows.of_role) {
      for (std::size_t op = 0; op < of_op.size(); ++op) {
        if (of_op[op].pattern == UINT32_MAX) continue;
        const Picoseconds own_time = p.priced.costs.duration[op] - of_op[op].latency;
        ASSERT_GT(own_time, 0);
        const double rate = of_op[op].work / from_picoseconds(own_time).value;
        for (const LinkLoad& load : flows.patterns[of_op[op].pattern].folded) {
          // A duration is rounded to a picosecond: a millionth of the shortest.
          EXPECT_LE(rate * load.weight, flows.capacity[load.link] * (1 + 1e-6));
        }
      }
    }
  }
}

TEST(PriceFlows, LinksWithRoomForAllLeaveTheStepToThePicosecond) {
  for (const char* plan : {kTensorOverNodes, kPipelineOverNodes}) {
    const Priced p(scenario(plan, 4));
    for (const Ranks ranks : {Ranks::folded, Ranks::all}) {
      LinkFlows flows = p.flows(ranks);
      ASSERT_TRUE(flows.any());
      for (double& capacity : flows.capacity) capacity *= 100;
      const StepTiming plain = p.step({}, ranks);
      const StepTiming shared = p.step(flows, ranks);
      EXPECT_EQ(plain.step_time, shared.step_time);
      EXPECT_EQ(shared.sharing.slowed, 0);
      EXPECT_EQ(shared.sharing.rounds, 1);
      for (std::size_t role = 0; role < plain.roles.size(); ++role) {
        EXPECT_EQ(plain.roles[role].time, shared.roles[role].time);
      }
    }
  }
}

TEST(PriceFlows, FoldedEqualsUnfoldedWhereTheyShare) {
  for (const char* plan : {kTensorOverNodes, kPipelineOverNodes}) {
    const Priced p(scenario(plan, 4));
    const StepTiming folded = p.step(p.flows(Ranks::folded), Ranks::folded);
    const StepTiming all = p.step(p.flows(Ranks::all), Ranks::all);
    EXPECT_GT(folded.sharing.slowed, 0) << plan;
    EXPECT_TRUE(folded.sharing.settled);
    EXPECT_NEAR(folded.step_time[0], all.step_time[0], kFolding) << plan;
  }
}

TEST(PriceFlows, ANoisyStepTakesEachGroupsFlow) {
  Priced p(scenario(kTensorOverNodes, 4));
  const StepTiming exact = p.step(p.flows(Ranks::all), Ranks::all);
  p.priced.costs.jitter = {.sigma = 0.01, .seed = 1};
  const StepTiming noisy = p.step(p.flows(Ranks::all), Ranks::folded);  // noise takes all ranks
  EXPECT_GT(noisy.sharing.slowed, 0);
  EXPECT_NEAR(static_cast<double>(noisy.step_time[0]) / static_cast<double>(exact.step_time[0]),
              1.0, 0.05);
  EXPECT_THROW(p.step(p.flows(Ranks::folded), Ranks::folded), std::logic_error);
}

TEST(PriceFlows, SimulateSharesTheNetworkWherePassesWaitForIt) {
  const auto step_time = [](const Scenario& s, NetworkSharing sharing) {
    return simulate(s, {.draws = 0, .sharing = sharing}).report.step_time_s;
  };
  const Scenario tensor = scenario(kTensorOverNodes, 4);
  EXPECT_GT(step_time(tensor, NetworkSharing::automatic), step_time(tensor, NetworkSharing::never));
  EXPECT_EQ(step_time(tensor, NetworkSharing::automatic),
            step_time(tensor, NetworkSharing::always));
  const Scenario pipeline = scenario(kPipelineOverNodes, 4);
  EXPECT_EQ(step_time(pipeline, NetworkSharing::automatic),
            step_time(pipeline, NetworkSharing::never));
  EXPECT_GT(step_time(pipeline, NetworkSharing::always),
            step_time(pipeline, NetworkSharing::never));
}

}  // namespace
}  // namespace windtunnel
