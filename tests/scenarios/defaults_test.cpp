// The defaults that are fixed by the format, and the ones that are left to the preset.

#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

Scenario with_model(const std::string& more) {
  return load_one("model: {layers: 2, hidden: 64, ffn: 128, heads: 4, vocab: 256" + more +
                  "}\n"
                  "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
                  "batch: {global: 8, micro: 1, sequence: 64}\n");
}

TEST(Defaults, GatedModelsAreLlamaStyle) {
  const Model model = with_model(", activation: swiglu").model;
  EXPECT_EQ(model.norm, NormKind::rmsnorm);
  EXPECT_EQ(model.position, PositionKind::rope);
  EXPECT_FALSE(model.bias);
  EXPECT_FALSE(model.dropout);
  EXPECT_FALSE(model.tied_embeddings);
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 16);
}

TEST(Defaults, OtherModelsAreGptStyle) {
  const Model model = with_model("").model;
  EXPECT_EQ(model.activation, Activation::gelu);
  EXPECT_EQ(model.norm, NormKind::layernorm);
  EXPECT_EQ(model.position, PositionKind::learned);
  EXPECT_TRUE(model.bias);
}

TEST(Defaults, BiasFollowsTheNormThatIsWritten) {
  EXPECT_FALSE(with_model(", activation: gelu, norm: rmsnorm").model.bias);
  EXPECT_TRUE(with_model(", activation: swiglu, norm: layernorm").model.bias);
}

TEST(Defaults, HeadDimNeedNotBeHiddenOverHeads) {
  EXPECT_EQ(with_model(", head_dim: 128").model.head_dim, 128);
}

TEST(Defaults, LatentAttentionGivesTheQueryWidth) {
  const Model model = with_model(
                          ", mla: {q_lora_rank: 32, kv_lora_rank: 16, qk_nope_head_dim: 24, "
                          "qk_rope_head_dim: 8, v_head_dim: 24}")
                          .model;
  EXPECT_EQ(model.head_dim, 32);
}

TEST(Defaults, ExpertsWithoutDenseLayersNeedNoFfn) {
  const Scenario scenario = load_one(
      "model: {layers: 2, hidden: 64, heads: 4, vocab: 256, moe: {experts: 8, top_k: 2, ffn: 32}}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
      "batch: {global: 8, micro: 1, sequence: 64}\n");
  EXPECT_EQ(scenario.model.ffn, 0);
  EXPECT_EQ(scenario.model.moe->shared_experts, 0);
  EXPECT_EQ(scenario.model.moe->every, 1);
  EXPECT_FALSE(scenario.model.moe->capacity_factor);
  EXPECT_DOUBLE_EQ(scenario.model.moe->imbalance, 1.0);
}

TEST(Defaults, ClusterAndPlan) {
  const Scenario scenario = with_model("");
  EXPECT_EQ(scenario.cluster.nvlink_domain, 8);
  EXPECT_EQ(scenario.profile, "auto");
  EXPECT_EQ(scenario.plan.preset, Preset::none);
  EXPECT_EQ(scenario.plan.tp, 1);
  EXPECT_FALSE(scenario.plan.dp);
  EXPECT_EQ(scenario.id, "test");
}

TEST(Defaults, WhatAPresetDecidesStaysOpen) {
  const Plan plan = load_one(tiny_scenario("{preset: megatron}")).plan;
  EXPECT_FALSE(plan.etp || plan.order || plan.sequence_parallel || plan.optimizer);
  EXPECT_FALSE(plan.schedule.kind || plan.schedule.virtual_stages || plan.sharding.kind);
  EXPECT_FALSE(plan.recompute.kind || plan.precision.compute || plan.overlap.pp);
  EXPECT_FALSE(plan.attention || plan.cuda_graphs || plan.compile || plan.cross_entropy);
}

TEST(Defaults, AutoIsLeftOpen) {
  const Plan plan = load_one(tiny_scenario("{dp: auto, schedule: {layers_per_stage: auto, "
                                           "micro_batch_group: auto}, sharding: {bucket: auto, "
                                           "prefetch: auto, shard_degree: auto}, "
                                           "precision: {fp8_recipe: auto}}"))
                        .plan;
  EXPECT_FALSE(plan.dp || plan.schedule.layers_per_stage || plan.schedule.micro_batch_group);
  EXPECT_FALSE(plan.sharding.bucket || plan.sharding.prefetch || plan.sharding.shard_degree);
  EXPECT_FALSE(plan.precision.fp8_recipe);
}

}  // namespace
}  // namespace windtunnel
