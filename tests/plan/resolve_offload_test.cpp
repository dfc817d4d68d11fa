// Which stacks offload what, and what is refused by name.

#include "plan/resolve_offload.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

std::string text_of(const std::string& plan, const std::string& stack,
                    const std::string& host = "") {
  return fmt::format(
      "id: x\n"
      "stack: {{{}}}\n"
      "model: {{layers: 4, hidden: 64, heads: 8, kv_heads: 4, head_dim: 8, ffn: 128, vocab: 256}}\n"
      "cluster: {{device: h100-sxm-80gb, nodes: 1, devices_per_node: 8{}}}\n"
      "batch: {{global: 8, micro: 1, sequence: 48}}\n"
      "plan: {}\n",
      stack, host, plan);
}

void expect_refused(const std::string& why, const std::string& plan, const std::string& stack) {
  const std::string text = refusal_of(text_of(plan, stack));
  EXPECT_NE(text.find(why), std::string::npos) << stack << " " << plan << ": " << text;
}

constexpr const char* kMegatron = "framework: megatron-lm, date: 2026-01";
constexpr const char* kDeepSpeed = "framework: deepspeed, date: 2024-06";
constexpr const char* kSharded =
    "{preset: none, sharding: {kind: zero1}, offload: {optimizer: 1.0}}";

TEST(ResolveOffload, StacksThatOffloadTheOptimizer) {
  EXPECT_FALSE(resolve_text(text_of(kSharded, "framework: ''")).plan.offload_overlap);
  EXPECT_FALSE(resolve_text(text_of(kSharded, kMegatron)).plan.offload_overlap);
  EXPECT_TRUE(resolve_text(text_of(kSharded, kDeepSpeed)).plan.offload_overlap);
}

TEST(ResolveOffload, StacksThatDoNot) {
  for (const char* stack :
       {"framework: nanotron", "framework: aleph alpha", "framework: megatron-lm, date: 2024-06"}) {
    expect_refused("keeps the optimizer of such a plan on the device", kSharded, stack);
  }
}

TEST(ResolveOffload, WhatItNeeds) {
  constexpr const char* kWhole = "{sharding: {kind: none}, offload: {optimizer: 1.0}}";
  expect_refused("offloads a sharded optimizer alone", kWhole, kMegatron);
  expect_refused("offloads a sharded optimizer alone", kWhole, kDeepSpeed);
  expect_refused("a part of the optimizer under ZeRO-3 alone",
                 "{sharding: {kind: zero2}, offload: {optimizer: 0.5}}", kDeepSpeed);
  EXPECT_EQ(
      resolve_text(text_of("{sharding: {kind: zero3}, offload: {optimizer: 0.5}}", kDeepSpeed))
          .plan.offload_optimizer,
      0.5);
  expect_refused("8-bit states are made for the device",
                 "{optimizer: adam8bit, offload: {optimizer: 1.0}}", "framework: ''");
  expect_refused("stands in the step that a graph would hold",
                 "{cuda_graphs: true, offload: {optimizer: 1.0}}", "framework: ''");
}

TEST(ResolveOffload, Activations) {
  constexpr const char* kHalf = "{offload: {activations: 0.5}}";
  EXPECT_EQ(resolve_text(text_of(kHalf, kMegatron)).plan.offload_activations, 0.5);
  for (const char* stack :
       {"framework: nanotron", kDeepSpeed, "framework: megatron-lm, date: 2023-06"})
    expect_refused("keeps activations on the device", kHalf, stack);
  constexpr const char* kBefore = "framework: megatron-lm, date: 2025-01";
  expect_refused("without pipeline stages", "{pp: 2, offload: {activations: 0.5}}", kBefore);
  expect_refused("or recomputes them", "{recompute: {kind: full}, offload: {activations: 0.5}}",
                 kBefore);
  expect_refused("of one layer at least", "{offload: {activations: 1.0}}", kBefore);
  expect_refused("would come back twice",
                 "{pp: 2, schedule: {kind: zb_h1}, offload: {activations: 0.5}}", "framework: ''");
  expect_refused("less than half of one", "{offload: {activations: 0.1}}", "framework: ''");
  expect_refused("where the optimizer is offloaded", "{offload: {overlap: true}}", "framework: ''");
  expect_refused("beside captured layers", "{cuda_graphs: true, offload: {activations: 0.5}}",
                 kMegatron);
}

TEST(ResolveOffload, Params) {
  constexpr const char* kAll = "{sharding: {kind: zero3}, offload: {optimizer: 1.0, params: 1.0}}";
  EXPECT_EQ(resolve_text(text_of(kAll, kDeepSpeed)).plan.offload_params, 1.0);
  expect_refused("keeps the weights of such a plan on the device",
                 "{sharding: {kind: zero1}, offload: {optimizer: 1.0, params: 1.0}}", kMegatron);
  expect_refused("offloaded as shards",
                 "{sharding: {kind: zero2}, offload: {optimizer: 1.0, params: 1.0}}", kDeepSpeed);
  expect_refused("no part of them",
                 "{sharding: {kind: zero3}, offload: {optimizer: 1.0, params: 0.5}}", kDeepSpeed);
  expect_refused("weights on the host are updated there",
                 "{sharding: {kind: zero3}, offload: {params: 1.0}}", kDeepSpeed);
  expect_refused("offloads weights and the optimizer together",
                 "{preset: fsdp2, offload: {optimizer: 1.0}}", "framework: ''");
}

TEST(ResolveOffload, ABandwidthThatIsNotStatedIsAnAssumption) {
  const auto assumes = [](const ResolvedScenario& r) {
    std::string all;
    for (const std::string& a : r.assumptions) all += a + "\n";
    return all.find("409.6 GB/s of a node") != std::string::npos;
  };
  EXPECT_TRUE(assumes(resolve_text(text_of(kSharded, "framework: ''"))));
  EXPECT_FALSE(assumes(
      resolve_text(text_of(kSharded, "framework: ''", ", host: {memory_bandwidth: 600 GB/s}"))));
  EXPECT_FALSE(assumes(resolve_text(text_of("{}", "framework: ''"))));
}

}  // namespace
}  // namespace windtunnel
