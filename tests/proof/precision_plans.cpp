#include "tests/proof/precision_plans.h"

namespace windtunnel::proof {

namespace {

void degrees(Scenario& s, int tp, int pp, int dp) {
  s.plan.tp = tp;
  s.plan.pp = pp;
  s.plan.dp = dp;
}

/// Tensor parallel with sequence parallel: operands are quantised, then gathered.
void sequence_parallel(Scenario& s, int tp) {
  s.plan.tp = tp;
  s.plan.sequence_parallel = true;
}

void megatron(Scenario& s, const char* name = "megatron-lm", const char* date = "2025-06") {
  s.plan.preset = Preset::megatron;
  s.stack = {.framework = name, .date = date};
}

void fsdp2(Scenario& s, int dp) {
  degrees(s, 1, 1, dp);
  s.plan.preset = Preset::fsdp2;
  s.plan.sharding.kind = ShardingKind::fsdp;
  s.stack = {.framework = "torchtitan (fsdp2)", .date = "2025-06"};
}

void recompute(Scenario& s, std::vector<RecomputeModule> modules) {
  s.plan.recompute.kind = RecomputeKind::selective;
  s.plan.recompute.modules = std::move(modules);
}

std::vector<PlanCase> quantized_plans() {
  using M = RecomputeModule;
  return {
      {"fp8_delayed", toy_gpt,
       [](Scenario& s) {
         megatron(s);
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"tp2_sp_dp2_fp8_delayed", toy_llama,
       [](Scenario& s) {
         degrees(s, 2, 1, 2);
         megatron(s);
         sequence_parallel(s, 2);
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"tp2_pp2_fp8_tensorwise", toy_llama,
       [](Scenario& s) {
         degrees(s, 2, 2, 1);
         megatron(s);
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::tensorwise};
       }},
      {"tp2_sp_fp8_bridge", toy_llama,
       [](Scenario& s) {
         megatron(s, "megatron-bridge");
         sequence_parallel(s, 2);
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"tp2_sp_fp8_one_layout", toy_llama,
       [](Scenario& s) {
         megatron(s);
         s.cluster.device = "b200-sxm-180gb";
         sequence_parallel(s, 2);
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::tensorwise};
       }},
      {"tp2_sp_fp8_blockwise", toy_gpt,
       [](Scenario& s) {
         megatron(s);
         sequence_parallel(s, 2);
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::blockwise};
       }},
      {"tp2_sp_pp2_dp2_mxfp8_interleaved", toy_llama,
       [](Scenario& s) {
         degrees(s, 2, 2, 2);
         megatron(s);
         sequence_parallel(s, 2);
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         s.plan.sharding = {.kind = ShardingKind::zero1,
                            .overlap_grad_reduce = true,
                            .overlap_param_gather = true,
                            .bucket = 1000};
         s.plan.precision.compute = Dtype::mxfp8;
       }},
      {"dp2_nvfp4_recompute", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         megatron(s);
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.precision.compute = Dtype::nvfp4;
       }},
      {"fp8_delayed_recompute", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         megatron(s);
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"tp2_sp_fp8_recomputes_norm_and_activation", toy_llama,
       [](Scenario& s) {
         megatron(s);
         sequence_parallel(s, 2);
         recompute(s, {M::norm, M::activation});
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"mxfp8_recomputes_attention_and_mlp", toy_gpt,
       [](Scenario& s) {
         megatron(s);
         sequence_parallel(s, 2);
         recompute(s, {M::attention, M::mlp});
         s.plan.precision.compute = Dtype::mxfp8;
       }},
      {"dp2_fsdp2_fp8", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"tp2_dp2_fsdp2_fp8_compiled_recompute", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         sequence_parallel(s, 2);
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.precision.compute = Dtype::fp8;
         s.plan.compile = true;
       }},
      {"dp4_hsdp2_fp8_delayed", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.sharding = {.kind = ShardingKind::hsdp, .shard_degree = 2};
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::delayed};
       }},
  };
}

std::vector<PlanCase> scaled_plans() {
  return {
      {"fp16_loss_scaling", toy_gpt, [](Scenario& s) { s.plan.precision.compute = Dtype::fp16; }},
      {"tp2_pp2_dp2_fp16_zero1", toy_llama,
       [](Scenario& s) {
         degrees(s, 2, 2, 2);
         megatron(s, "megatron-lm", "2023-06");
         s.plan.sharding.kind = ShardingKind::zero1;
         s.plan.precision.compute = Dtype::fp16;
       }},
      {"dp2_zero2_fp16", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         s.plan.preset = Preset::deepspeed;
         s.plan.sharding.kind = ShardingKind::zero2;
         s.plan.precision.compute = Dtype::fp16;
       }},
      {"dp4_fsdp2_fp16_grads", toy_llama,  // divided before and after they are summed
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.precision = {.compute = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"dp4_hsdp2_fp16_grads", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.sharding = {.kind = ShardingKind::hsdp, .shard_degree = 2};
         s.plan.precision = {.compute = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"bf16_loss_scaling_sgd", toy_llama,
       [](Scenario& s) {
         s.plan.precision.loss_scaling = true;
         s.plan.optimizer = OptimizerKind::sgd;
       }},
  };
}

std::vector<PlanCase> fused_plans() {
  return {
      {"compiled", toy_llama, [](Scenario& s) { s.plan.compile = true; }},
      {"tp2_sp_pp2_compiled", toy_gpt,
       [](Scenario& s) {
         degrees(s, 2, 2, 1);
         sequence_parallel(s, 2);
         s.plan.compile = true;
       }},
      {"dp2_fsdp2_compiled_fp16", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.compile = true;
         s.plan.precision.compute = Dtype::fp16;
       }},
      {"chunked_loss", toy_llama,
       [](Scenario& s) { s.plan.cross_entropy = CrossEntropyKind::chunked; }},
      {"tp2_sp_dp2_chunked_loss", toy_llama,
       [](Scenario& s) {
         degrees(s, 2, 1, 2);
         sequence_parallel(s, 2);
         s.batch.micro = 2;
         s.plan.cross_entropy = CrossEntropyKind::chunked;
       }},
      {"tp2_pp2_chunked_loss_tied", toy_gpt,
       [](Scenario& s) {
         degrees(s, 2, 2, 1);
         s.plan.cross_entropy = CrossEntropyKind::chunked;
       }},
      {"dp2_fsdp2_chunked_loss_fp16", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.cross_entropy = CrossEntropyKind::chunked;
         s.plan.precision.compute = Dtype::fp16;
       }},
      {"nanotron_chunked_loss", toy_llama,  // a half gradient is kept beside the fp32 one
       [](Scenario& s) {
         degrees(s, 2, 1, 2);
         s.stack = {.framework = "nanotron", .date = "2024-10"};
         s.plan.preset = Preset::nanotron;
         s.plan.cross_entropy = CrossEntropyKind::chunked;
       }},
      {"dp2_adam8bit", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         s.plan.sharding.kind = ShardingKind::zero1;
         s.plan.optimizer = OptimizerKind::adam8bit;
       }},
  };
}

}  // namespace

std::vector<PlanCase> precision_plans() {
  std::vector<PlanCase> all = quantized_plans();
  for (auto part : {scaled_plans(), fused_plans()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace windtunnel::proof
