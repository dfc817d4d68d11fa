// What a slow device or a slow network adapter does to a step, through the scenario's keys
// (docs/host_effects.md). Costs are those of device `unit`, so every answer is a sum.

#include "planning/degraded.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/cost/profile.h"
#include "models/cost/profile_cost.h"
#include "planning/pricing.h"
#include "sim/engine/simulate_step.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;

/// Heads for tp up to 8.
std::string model_of(int layers) {
  return fmt::format("{{layers: {}, hidden: 64, ffn: 128, heads: 8, vocab: 256}}", layers);
}

struct Question {
  int nodes = 2, devices = 2;
  std::string plan = "{}";
  std::string degraded = "[]";
  int micro_batches = 4;
  std::string costs = R"(layer: {F: "1 s", B: "2 s"})";
};

/// One layer a stage.
StepReport step_of(const Question& q, int stages, int replicas) {
  return simulate_unit(scenario_of(fmt::format(
                           R"(id: degraded
model: {}
cluster:
  device: unit
  devices_per_node: {}
  nodes: {}
  network: {{nics_per_node: {}, nic_bandwidth: "200 Gbit/s"}}
  degraded: {}
  unit: {{{}}}
batch: {{global: {}, micro: 1, sequence: 32}}
plan: {}
)",
                           small_model(stages), q.devices, q.nodes, q.devices, q.degraded, q.costs,
                           q.micro_batches * replicas, q.plan)))
      .report;
}

// Replicas meet once a step: the step is the slowest's.
TEST(Straggler, OneOfManyReplicasMakesTheStepItsOwn) {
  const Question sound{};
  const double whole = step_of(sound, 1, 4).step_time_s;
  expect_relative("sound: m (F + B)", 12.0, whole, kPicosecond);
  for (const double factor : {1.0, 1.5, 3.0}) {
    Question q;
    q.degraded = fmt::format("[{{rank: 2, slowdown: {}}}]", factor);
    const StepReport report = step_of(q, 1, 4);
    expect_relative("m (F + B) f", 12.0 * factor, report.step_time_s, kPicosecond);
    // Three of four wait for it.
    expect_relative("straggler rows", 12.0 * (factor - 1) * 3 / 4, report.breakdown.straggler,
                    kPicosecond);
    ASSERT_EQ(report.degraded.size(), 1U);
    EXPECT_NE(report.degraded[0].find("rank 2 computes"), std::string::npos);
    expect_relative("without it", whole, report.step_time_sound_s.value_or(0), kPicosecond);
  }
}

TEST(Straggler, ANodeIsAllItsRanksAndTheLargestSlowdownCounts) {
  Question q;
  q.degraded = "[{node: 1, slowdown: 1.25}, {rank: 3, slowdown: 1.5}]";
  expect_relative("largest", 18.0, step_of(q, 1, 4).step_time_s, kPicosecond);
  q.degraded = "[{node: 1, slowdown: 1.25}]";
  expect_relative("node", 15.0, step_of(q, 1, 4).step_time_s, kPicosecond);
}

// 1F1B of p stages, one f times as long: O-117 and O-118 with the slow stage's factor from a rank.
TEST(Straggler, UnderPipelineOnlyItsStageIsSlow) {
  Question q{.nodes = 1, .devices = 4, .plan = "{pp: 4}", .micro_batches = 8};
  expect_relative("1F1B", 33.0, step_of(q, 4, 1).step_time_s, kPicosecond);
  q.degraded = "[{rank: 3, slowdown: 1.5}]";
  expect_relative("O-117's last stage x 1.5", 45.0, step_of(q, 4, 1).step_time_s, kPicosecond);
  q.degraded = "[{rank: 0, slowdown: 1.5}]";
  expect_relative("O-118's first stage x 1.5", 40.5, step_of(q, 4, 1).step_time_s, kPicosecond);
}

// The reduction of gradients takes 6 s. Ranks fill nodes, so with tp 2 the replicas 0 and 1 are
// nodes 0 and 1, and their groups cross both.
TEST(SlowAdapter, SlowsGroupsThatCrossItsNode) {
  Question q{.costs = R"(layer: {F: "1 s", B: "2 s"}, collective: {all_reduce: "6 s"})"};
  q.plan = "{order: dp-tp-cp-ep-pp}";
  expect_relative("sound", 18.0, step_of(q, 1, 4).step_time_s, kPicosecond);
  q.degraded = R"([{node: 1, nic_bandwidth: "50 Gbit/s"}])";
  const StepReport slow = step_of(q, 1, 4);
  expect_relative("6 s of 200 / 50", 36.0, slow.step_time_s, kPicosecond);
  ASSERT_EQ(slow.degraded.size(), 1U);
  EXPECT_NE(slow.degraded[0].find("node 1 reaches other nodes at 50 of 200"), std::string::npos);
}

// pp between nodes, dp inside: the adapters carry hops, the reductions stay inside the nodes.
TEST(SlowAdapter, GroupsInsideTheNodeDoNotNotice) {
  Question q{.plan = "{pp: 2, order: tp-cp-ep-dp-pp}",
             .micro_batches = 4,
             .costs = R"(layer: {F: "1 s", B: "2 s"}, collective: {all_reduce: "6 s"})"};
  const double sound = step_of(q, 2, 2).step_time_s;
  q.degraded = R"([{node: 1, nic_bandwidth: "50 Gbit/s"}])";
  expect_relative("no hop cost", sound, step_of(q, 2, 2).step_time_s, kPicosecond);
  // Blocking transfers of one stage boundary, hop h: what the hop adds is in proportion to it.
  q.costs += R"(, hop: "0.1 s")";
  const double slow = step_of(q, 2, 2).step_time_s;
  q.degraded = "[]";
  q.costs.replace(q.costs.find("0.1 s"), 5, "0.4 s");
  expect_relative("hops four times as long", step_of(q, 2, 2).step_time_s, slow, kPicosecond);
}

// Adapters stand in the order of devices: with one per device only the rank's own groups are slow,
// with one per node all of the node's.
TEST(SlowAdapter, OfARankSlowsThoseWhoShareIt) {
  const auto slow_ranks_of = [](int nics) {
    const Scenario s = scenario_of(fmt::format(
        R"(id: rails
model: {}
cluster:
  device: unit
  devices_per_node: 4
  nodes: 2
  network: {{nics_per_node: {}, nic_bandwidth: "200 Gbit/s"}}
  degraded: [{{rank: 5, nic_bandwidth: "100 Gbit/s"}}]
  unit: {{layer: {{F: "1 s", B: "2 s"}}, collective: {{all_reduce: "6 s"}}}}
batch: {{global: 2, micro: 1, sequence: 32}}
plan: {{tp: 4, order: tp-cp-ep-dp-pp}}
)",
        model_of(1), nics));
    const Lowered lowered = lower_scenario(s);
    PricedProgram priced = price_unit(lowered.program, s.cluster);
    degrade(priced, lowered.program, s.cluster, nullptr);
    std::vector<int> ranks;
    for (const SlowLink& link : priced.costs.slow_links) {
      if (lowered.program.comms[link.comm].name == "dp") ranks.push_back(link.rank);
    }
    return ranks;
  };
  EXPECT_EQ(slow_ranks_of(4), (std::vector<int>{5}));
  EXPECT_EQ(slow_ranks_of(2), (std::vector<int>{4, 5}));
  EXPECT_EQ(slow_ranks_of(1), (std::vector<int>{4, 5, 6, 7}));
}

// Every rank by itself gives the step of the folded ranks, to the picosecond.
TEST(Degraded, FoldedEqualsUnfolded) {
  for (const std::string degraded :
       {R"([{rank: 5, slowdown: 1.37}])", R"([{node: 1, nic_bandwidth: "70 Gbit/s"}])",
        R"([{rank: 6, nic_bandwidth: "30 Gbit/s"}, {node: 0, slowdown: 1.1}])"}) {
    for (const std::string plan :
         {"{tp: 2, pp: 2}", "{tp: 4, order: dp-tp-cp-ep-pp}", "{pp: 2, sharding: {kind: zero1}}"}) {
      const Scenario s = scenario_of(fmt::format(
          R"(id: folds
model: {}
cluster: {{device: h100-sxm-80gb, devices_per_node: 4, nodes: 4,
  network: {{nics_per_node: 4, nic_bandwidth: "400 Gbit/s"}}, degraded: {}}}
batch: {{global: 32, micro: 1, sequence: 512}}
plan: {}
)",
          model_of(4), degraded, plan));
      const Simulation folded = simulate(s, {.draws = 0});
      const Program& program = folded.lowered.program;
      const ProfileCostModel model(load_public_profile(s.cluster.device));
      PricedProgram priced = price(program, model, s.cluster, {});
      degrade(priced, program, s.cluster, &model);
      const StepTiming all = simulate_step(program, priced.costs, {.ranks = Ranks::all});
      EXPECT_EQ(simulate_step(program, priced.costs).step_time, all.step_time) << degraded << plan;
      EXPECT_EQ(folded.report.step_time_s, from_picoseconds(all.step_time[0]).value);
      EXPECT_GT(folded.report.step_time_s, folded.report.step_time_sound_s.value_or(1e9));
    }
  }
}

}  // namespace
}  // namespace windtunnel::closed_form
