// Sets: merging over defaults, ids, places after merging.

#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

constexpr const char* kSet = R"(name: pair
source: nowhere
defaults:
  model: {layers: 8, hidden: 64, ffn: 128, heads: 4, vocab: 256}
  cluster: {device: unit, devices_per_node: 8, nodes: 1, unit: {hop: 0 s}}
  batch: {micro: 1, sequence: 64}
  assumed: [network, vocab]
  plan:
    tp: 2
    schedule: {kind: 1f1b}
scenarios:
  - {id: a, batch: {global: 8}}
  - id: b
    assumed: []
    batch: {global: 16, micro: 2}
    plan: {pp: 2, schedule: {layers_per_stage: [3, 5]}}
)";

TEST(Set, MapsMergeAndTheRestIsReplaced) {
  const ScenarioSet set = load_scenarios_text(kSet, "set.yaml");
  ASSERT_EQ(set.scenarios.size(), 2U);
  EXPECT_EQ(set.name, "pair");
  EXPECT_EQ(set.source, "nowhere");
  EXPECT_EQ(set.file, "set.yaml");
  const Scenario& a = set.scenarios[0];
  const Scenario& b = set.scenarios[1];
  EXPECT_EQ(a.batch.global, 8);
  EXPECT_EQ(a.batch.micro, 1);
  EXPECT_EQ(b.batch.micro, 2);
  EXPECT_EQ(b.batch.sequence, 64);
  EXPECT_EQ(a.assumed, (std::vector<std::string>{"network", "vocab"}));
  EXPECT_TRUE(b.assumed.empty());
  EXPECT_EQ(b.plan.tp, 2);
  EXPECT_EQ(b.plan.pp, 2);
  EXPECT_EQ(b.plan.schedule.kind, ScheduleKind::one_f_one_b);
  EXPECT_EQ(b.plan.schedule.layers_per_stage, (std::vector<int>{3, 5}));
  EXPECT_FALSE(a.plan.schedule.layers_per_stage);
}

TEST(Set, PlacesSurviveMerging) {
  const Scenario b = load_scenarios_text(kSet, "set.yaml").scenarios[1];
  EXPECT_EQ(b.positions.at("plan.tp").line, 9);
  EXPECT_EQ(b.positions.at("plan.tp").column, 9);
  EXPECT_EQ(b.positions.at("plan.pp").line, 16);
  EXPECT_EQ(b.positions.at("batch.sequence").line, 6);
  EXPECT_EQ(b.positions.at("batch.global").line, 15);
}

TEST(Set, AScalarReplacesAMapping) {
  const ScenarioSet set = load_scenarios_text(
      "defaults: {model: {layers: 1, hidden: 64}, cluster: {device: cpu, devices_per_node: 1, "
      "nodes: 1}, batch: {global: 1, micro: 1, sequence: 8}}\n"
      "scenarios: [{id: a, model: gpt2}]\n",
      "set.yaml");
  EXPECT_EQ(set.scenarios[0].model.hidden, 768);
}

TEST(Set, AProblemInDefaultsIsReportedOnce) {
  std::string text =
      "defaults: {plan: {tp: zwei}, model: gpt2, cluster: dgx-a100-hdr, "
      "batch: {global: 64, micro: 1, sequence: 8}}\nscenarios:\n";
  for (int i = 0; i < 100; ++i) text += "- {id: s" + std::to_string(i) + "}\n";
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].position.line, 1);
}

TEST(Set, AnAliasInDefaultsIsAValueOfItsOwn) {
  const ScenarioSet set = load_scenarios_text(
      "defaults: {model: gpt2, cluster: &c {device: cpu, devices_per_node: 1, nodes: 1}, "
      "batch: {global: 1, micro: 1, sequence: 8}}\n"
      "scenarios: [{id: a, cluster: *c}, {id: b, cluster: {nodes: 2}, plan: {dp: 1, pp: 2}}]\n",
      "set.yaml");
  EXPECT_EQ(set.scenarios[0].cluster.nodes, 1);
  EXPECT_EQ(set.scenarios[1].cluster.nodes, 2);
}

}  // namespace
}  // namespace windtunnel
