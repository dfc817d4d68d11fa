// The 90 % interval of the step time: its parts and what they add up to (docs/uncertainty.md).

#include <gtest/gtest.h>

#include <cmath>

#include "planning/simulate.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

/// log(low / step) and log(high / step).
struct Reach {
  double down = 0, up = 0;
};

Reach reach(const std::string& framework, int nodes, const std::string& plan, int draws) {
  const std::string text =
      "model: {layers: 4, hidden: 64, ffn: 256, heads: 8, vocab: 1024}\n"
      "cluster: {device: h100-sxm-80gb, devices_per_node: 8, nodes: " +
      std::to_string(nodes) +
      ", network: {nics_per_node: 8, nic_bandwidth: 200 Gbit/s, kind: ib}}\n"
      "batch: {global: 32, micro: 1, sequence: 32}\n"
      "stack: {framework: " +
      framework + "}\nplan: " + plan + "\n";
  const StepReport report =
      simulate(load_scenarios_text(text, "test.yaml").scenarios.front(), {.draws = draws}).report;
  const auto [low, high] = report.step_time_interval_s;
  return {.down = std::log(low / report.step_time_s), .up = std::log(high / report.step_time_s)};
}

constexpr double kNinety = 1.645;  // two-sided 90 % of a normal
constexpr double kExact = 1e-12;
constexpr int kNoCosts = 1;  // one draw has no spread: the stack's part alone is left

TEST(Interval, TheStackIsOffEitherWay) {
  const Reach megatron = reach("megatron-lm", 2, "{tp: 2, pp: 2}", kNoCosts);
  EXPECT_NEAR(megatron.down, -kNinety * 0.02, kExact);
  EXPECT_NEAR(megatron.up, kNinety * 0.02, kExact);
}

TEST(Interval, WhatIsNotExplainedOnlyAddsTime) {
  const Reach on_one_node = reach("nanotron", 1, "{tp: 2, pp: 2}", kNoCosts);
  EXPECT_NEAR(on_one_node.down, -kNinety * 0.08, kExact);
  EXPECT_NEAR(on_one_node.up, kNinety * 0.08, kExact);
  for (const char* plan : {"{tp: 2, pp: 2}", "{tp: 8, pp: 2}"}) {
    const Reach over_nodes = reach("nanotron", 2, plan, kNoCosts);
    EXPECT_NEAR(over_nodes.down, -kNinety * 0.08, kExact) << plan;
    EXPECT_NEAR(over_nodes.up, kNinety * std::hypot(0.08, 0.75), kExact) << plan;
  }
  const Reach replicas_over_nodes = reach("nanotron", 2, "{tp: 2}", kNoCosts);
  EXPECT_NEAR(replicas_over_nodes.up, kNinety * std::hypot(0.08, 0.15), kExact);
}

TEST(Interval, UncertainCostsWidenBothSides) {
  const Reach reached = reach("megatron-lm", 1, "{tp: 2, pp: 2}", 32);
  EXPECT_LT(reached.down, -kNinety * 0.02);
  EXPECT_NEAR(reached.up, -reached.down, kExact);
  EXPECT_EQ(reach("megatron-lm", 1, "{tp: 2, pp: 2}", 0).up, 0.0);  // no draws, no interval
}

}  // namespace
}  // namespace windtunnel
