// Keys that are read and validated but not built are named, with their place.

#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

struct Case {
  const char* plan;
  const char* message;  // of the one entry
};

class NotBuilt : public ::testing::TestWithParam<Case> {};

TEST_P(NotBuilt, IsNamedWithItsValue) {
  const auto [plan, message] = GetParam();
  const Scenario scenario = load_one(tiny_scenario(plan));
  ASSERT_EQ(scenario.not_built.size(), 1U);
  EXPECT_EQ(scenario.not_built[0].message, message);
  EXPECT_EQ(scenario.not_built[0].position.line, 4);
}

INSTANTIATE_TEST_SUITE_P(
    Plan, NotBuilt,
    ::testing::Values(Case{"{optimizer: muon}", "`plan.optimizer`: muon is not built yet"},
                      Case{"{precision: {compute: bf16, params: fp32}}",
                           "`plan.precision.params`: fp32 is not built yet"},
                      Case{"{precision: {compute: fp8, params: fp8}}",
                           "`plan.precision.params`: fp8 is not built yet"},
                      Case{"{precision: {compute: fp8, grads: fp8}}",
                           "`plan.precision.grads`: fp8 is not built yet"},
                      Case{"{precision: {optimizer_states: fp8}}",
                           "`plan.precision.optimizer_states`: fp8 is not built yet"}));

TEST(NotBuilt, WhatIsBuiltIsNotNamed) {
  const Scenario scenario = load_one(
      tiny_scenario("{cp: 1, ep: 1, sharding: {kind: fsdp, shard_degree: 4}, optimizer: sgd, "
                    "lora: {rank: 16}, offload: {params: 1.0, optimizer: 1.0, activations: 0.5}, "
                    "cuda_graphs: true, overlap: {tp: true}, "
                    "precision: {compute: fp32, params: fp32}}"));
  EXPECT_TRUE(scenario.not_built.empty());
}

TEST(NotBuilt, ModelAndWorkload) {
  const Scenario scenario = load_one(
      "model: {layers: 4, hidden: 64, heads: 4, vocab: 256, parallel_block: true, "
      "sliding_window: 32, layer_pattern: [full, local], moe: {experts: 8, top_k: 2, ffn: 32}}\n"
      "cluster: {device: cpu, devices_per_node: 1, nodes: 1, degraded: [{rank: 0, slowdown: 2}]}\n"
      "batch: {global: 1, micro: 1, sequence: 64}\n"
      "workload: {kind: inference, prompt: 8, output: 8, concurrency: 1}\n");
  std::vector<std::string> keys;
  for (const Diagnostic& d : scenario.not_built) {
    keys.push_back(d.message.substr(0, d.message.find(':')));
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"`workload.kind`"}));
}

TEST(NotBuilt, OtherVerbsSectionsAreKept) {
  const Scenario scenario = load_one(tiny_scenario(
      "{}",
      "sweep: {over: {plan.tp: [1, 2], batch.micro: [1]}}\n"
      "run: {duration: 54 d, failures: {preset: llama3}, stragglers: [{slowdown: 1.1}]}\n"));
  EXPECT_TRUE(scenario.not_built.empty());
  ASSERT_EQ(scenario.sweep.size(), 2U);
  EXPECT_EQ(scenario.sweep[0].key, "plan.tp");
  EXPECT_EQ(scenario.sweep[0].values, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(scenario.run.at("run.duration"), "54 d");
  EXPECT_EQ(scenario.run.at("run.failures.preset"), "llama3");
  EXPECT_EQ(scenario.run.at("run.stragglers.0.slowdown"), "1.1");
}

}  // namespace
}  // namespace windtunnel
