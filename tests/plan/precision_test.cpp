// Which recipe a scenario means, what is refused, and how fp16 gradients are divided.

#include <gtest/gtest.h>

#include "plan/loss_scaling.h"
#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

Scenario scenario(const char* device, const char* framework, Dtype compute) {
  Scenario s;
  s.model = {.layers = 2,
             .hidden = 64,
             .ffn = 128,
             .heads = 4,
             .kv_heads = 4,
             .head_dim = 16,
             .vocab = 256};
  s.cluster.device = device;
  s.stack = {.framework = framework, .date = "2026-01"};
  s.plan.precision.compute = compute;
  return s;
}

TEST(FullyShard, Oracle_O_062_divide_factors) {  // 8: 4 and 2; 64: 8 and 8
  struct Row {
    int ranks, before, after;
  };
  for (const auto& [ranks, before, after] :
       {Row{8, 4, 2}, {64, 8, 8}, {1, 1, 1}, {2, 2, 1}, {3, 2, 1}, {256, 16, 16}}) {
    const DivideFactors got = divide_factors(ranks);
    std::printf("O-062, %d ranks: expected %d and %d, got %d and %d\n", ranks, before, after,
                got.before, got.after);
    EXPECT_EQ(got.before, before);
    EXPECT_EQ(got.after, after);
  }
}

TEST(Recipes, AutoIsTheStacks) {
  const auto recipe = [](const char* framework, Dtype compute) {
    return resolve(scenario("b200-sxm-180gb", framework, compute)).plan.scaling;
  };
  EXPECT_EQ(recipe("megatron-lm", Dtype::fp8), ScalingRecipe::delayed);
  EXPECT_EQ(recipe("megatron-bridge", Dtype::fp8), ScalingRecipe::tensorwise);
  EXPECT_EQ(recipe("torchtitan", Dtype::fp8), ScalingRecipe::tensorwise);
  EXPECT_EQ(recipe("megatron-lm", Dtype::mxfp8), ScalingRecipe::mxfp8);
  EXPECT_EQ(recipe("megatron-lm", Dtype::nvfp4), ScalingRecipe::nvfp4);
  EXPECT_EQ(recipe("megatron-lm", Dtype::bf16), ScalingRecipe::none);
}

TEST(Recipes, OfAnotherTypeIsThatType) {
  Scenario s = scenario("b200-sxm-180gb", "megatron-lm", Dtype::fp8);
  s.plan.precision.fp8_recipe = ScalingRecipe::mxfp8;
  const ResolvedPlan p = resolve(s).plan;
  EXPECT_EQ(p.compute, Dtype::mxfp8);
  EXPECT_EQ(p.multiplied(), Dtype::bf16);
  EXPECT_EQ(p.params, Dtype::bf16);
}

TEST(Recipes, LayoutsAreTheDevices) {
  const auto copies = [](const char* device, Dtype compute) {
    return resolve(scenario(device, "megatron-bridge", compute)).plan.transposed_operands;
  };
  EXPECT_TRUE(copies("h100-sxm-80gb", Dtype::fp8));
  EXPECT_FALSE(copies("b200-sxm-180gb", Dtype::fp8));
  EXPECT_TRUE(copies("b200-sxm-180gb", Dtype::mxfp8));
}

TEST(Recipes, WhatDoesNotFitIsRefused) {
  Scenario s = scenario("b200-sxm-180gb", "megatron-lm", Dtype::bf16);
  s.plan.precision.fp8_recipe = ScalingRecipe::delayed;
  EXPECT_NE(refusal_of(s).find("a recipe scales 8-bit and 4-bit products, and compute is bf16"),
            std::string::npos);
  s.plan.precision.compute = Dtype::nvfp4;
  EXPECT_NE(refusal_of(s).find("delayed scales fp8 products, and compute is nvfp4"),
            std::string::npos);
  s = scenario("b200-sxm-180gb", "megatron-lm", Dtype::bf16);
  s.plan.optimizer = OptimizerKind::adam8bit;
  s.plan.precision.optimizer_states = Dtype::fp32;
  EXPECT_NE(refusal_of(s).find("adam8bit keeps its states in 8 bits"), std::string::npos);
}

TEST(LossScaling, IsOfFp16UnlessAsked) {
  EXPECT_TRUE(resolve(scenario("a100-sxm-80gb", "pytorch", Dtype::fp16)).plan.loss_scaling);
  Scenario s = scenario("a100-sxm-80gb", "pytorch", Dtype::bf16);
  EXPECT_FALSE(resolve(s).plan.loss_scaling);
  s.plan.precision.loss_scaling = true;
  const ResolvedScenario resolved = resolve(s);
  EXPECT_TRUE(resolved.plan.loss_scaling);
  ASSERT_EQ(resolved.assumptions.size(), 1U);
  EXPECT_EQ(resolved.assumptions[0],
            "loss scaling with bf16 compute is lowered as asked; only fp16 needs it");
}

}  // namespace
}  // namespace windtunnel
