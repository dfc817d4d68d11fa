#include "tests/proof/lora_plans.h"

#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

using M = LoraModule;

/// alpha / rank = 3 / 4: a scale that is neither 1 nor whole.
void adapters(Scenario& s, std::vector<M> modules = {M::attention, M::mlp}) {
  s.plan.lora = Lora{.rank = 4, .alpha = 3, .modules = std::move(modules)};
}

void fsdp2(Scenario& s, int dp) {
  adapters(s);
  s.plan.dp = dp;
  s.plan.preset = Preset::fsdp2;
  s.stack = {.framework = "torchtitan", .date = "2025-06"};
}

void zero(Scenario& s, ShardingKind kind, int dp) {
  adapters(s);
  s.plan.dp = dp;
  s.plan.sharding.kind = kind;
}

void recompute(Scenario& s, std::vector<RecomputeModule> modules) {
  s.plan.recompute = {.kind = RecomputeKind::selective, .modules = std::move(modules)};
}

}  // namespace

// A list is as long as what it lists.
std::vector<PlanCase> lora_plans() {  // NOLINT(readability-function-size)
  using K = ShardingKind;
  using R = RecomputeModule;
  return {
      {"lora", toy_gpt, [](Scenario& s) { adapters(s); }},
      {"lora_attention", toy_llama, [](Scenario& s) { adapters(s, {M::attention}); }},
      {"lora_mlp", toy_gpt, [](Scenario& s) { adapters(s, {M::mlp}); }},
      {"lora_dp2", toy_llama,
       [](Scenario& s) {
         adapters(s);
         s.plan.dp = 2;
       }},
      {"lora_pp2_dualpipe", toy_llama,
       [](Scenario& s) {
         adapters(s);
         s.plan.pp = 2;
         s.plan.schedule.kind = ScheduleKind::dualpipe;
       }},
      {"lora_sliding_window", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         s.model.sliding_window = 3;
       }},
      {"lora_dp2_ddp", toy_llama,  // adapters of each projection
       [](Scenario& s) {
         adapters(s);
         s.plan.dp = 2;
         s.plan.preset = Preset::ddp;
         s.plan.sharding.bucket = 300;
       }},
      {"lora_dp4_zero1_overlap", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         s.plan.dp = 4;
         zero1_overlapped(s);
       }},
      {"lora_dp2_zero2", toy_llama, [](Scenario& s) { zero(s, K::zero2, 2); }},
      {"lora_dp2_zero2_deepspeed", toy_gpt,
       [](Scenario& s) {
         zero(s, K::zero2, 2);
         s.plan.preset = Preset::deepspeed;
         s.plan.sharding.overlap_grad_reduce = true;
       }},
      {"lora_dp2_zero3", toy_gpt, [](Scenario& s) { zero(s, K::zero3, 2); }},
      {"lora_dp4_zero3_deepspeed", toy_llama,
       [](Scenario& s) {
         zero(s, K::zero3, 4);
         s.plan.preset = Preset::deepspeed;
         s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = true;
       }},
      {"lora_dp2_fsdp2", toy_llama, [](Scenario& s) { fsdp2(s, 2); }},
      {"lora_dp3_fsdp2_padded", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 3);
         s.batch.global = 12;
       }},
      {"lora_dp4_fsdp2_root_keeps_half", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.stack.date = "2024-06";
         s.plan.sharding.reshard_after_forward = 2;
       }},
      {"lora_dp2_fsdp2_no_reshard", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.sharding.reshard_after_forward = 0;
       }},
      {"lora_dp4_hsdp2_recompute", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.sharding = {.kind = K::hsdp, .shard_degree = 2};
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"lora_pp2_dp2_fsdp2", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.pp = 2;
       }},
      {"lora_tp2", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         s.plan.tp = 2;
       }},
      {"lora_tp4_sp_dp2", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         set_degrees(s, {.tp = 4, .dp = 2});
         s.batch.micro = 2;
       }},
      {"lora_tp2_sp_megatron_recomputes_modules", toy_llama,
       [](Scenario& s) {
         adapters(s);
         megatron_core(s);
         set_degrees(s, {.tp = 2});
         recompute(s, {R::core_attention, R::norm, R::activation});
       }},
      {"lora_tp2_recomputes_attention_and_mlp", toy_llama,
       [](Scenario& s) {
         adapters(s);
         s.plan.tp = 2;
         recompute(s, {R::attention, R::mlp, R::norm});
       }},
      {"lora_tp2_pp2_dp2_megatron_recompute", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         megatron_core(s);
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         zero1_overlapped(s);
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"lora_pp4_interleaved", toy_llama,
       [](Scenario& s) {
         adapters(s, {M::attention});
         s.plan.pp = 2;
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
       }},
      {"lora_pp2_tied_zb_h1", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         s.plan.pp = 2;
         s.plan.schedule.kind = ScheduleKind::zb_h1;
       }},
      {"lora_tp2_pp2_zb_v", toy_llama,
       [](Scenario& s) {
         adapters(s, {M::mlp});
         set_degrees(s, {.tp = 2, .pp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_v;
       }},
      {"lora_tp2_cp2_ring", toy_llama,
       [](Scenario& s) {
         adapters(s);
         set_degrees(s, {.tp = 2, .cp = 2});
       }},
      {"lora_unfused_fp16", toy_gpt,
       [](Scenario& s) {
         adapters(s);
         s.plan.attention = AttentionKind::unfused;
         s.plan.precision.compute = Dtype::fp16;
         s.plan.optimizer = OptimizerKind::sgd;
       }},
      {"lora_dp2_qk_norm", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.model.qk_norm = true;
       }},
  };
}

}  // namespace windtunnel::proof
