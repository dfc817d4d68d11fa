#include "tests/proof/offload_plans.h"

#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

void deepspeed(Scenario& s, ShardingKind kind, int dp) {
  set_degrees(s, {.dp = dp});
  s.plan.preset = Preset::deepspeed;
  s.stack = {.framework = "deepspeed", .date = "2024-06"};
  s.plan.sharding.kind = kind;
  s.plan.offload.optimizer = 1.0;
}

std::vector<PlanCase> optimizer_plans() {
  using K = ShardingKind;
  return {
      {"offload_optimizer", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {});
         s.plan.offload.optimizer = 1.0;
       }},
      {"offload_optimizer_half_overlap", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {});
         s.batch.micro = 2;
         s.plan.sharding.bucket = 1500;
         s.plan.offload = {.optimizer = 0.5, .overlap = true};
       }},
      {"tp2_pp2_dp2_offload_optimizer_third", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         s.plan.sharding.overlap_grad_reduce = true;
         s.plan.sharding.bucket = 1000;
         s.plan.offload = {.optimizer = 0.33, .overlap = true};
       }},
      {"pp2_dp2_dualpipe_offload_overlap",
       toy_llama,  // gradients leave when both copies are summed
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         s.plan.schedule.kind = ScheduleKind::dualpipe;
         zero1_overlapped(s);
         s.plan.offload = {.optimizer = 0.5, .overlap = true};
       }},
      {"dp2_zero1_offload_megatron", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         megatron_core(s);
         s.plan.sharding.kind = K::zero1;
         s.plan.offload.optimizer = 1.0;
       }},
      {"tp2_pp2_dp2_zero1_offload_overlap", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         megatron_core(s);
         zero1_overlapped(s);
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         s.plan.offload = {.optimizer = 0.5, .overlap = true};
       }},
      {"dp4_zero1_shards_of_2_offload", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4});
         s.plan.sharding = {.kind = K::zero1, .shard_degree = 2};
         s.plan.offload.optimizer = 0.7;
       }},
      {"dp2_zero2_offload", toy_gpt,
       [](Scenario& s) {
         deepspeed(s, K::zero2, 2);
         s.plan.sharding.bucket = 1000;
         s.plan.sharding.overlap_grad_reduce = true;
       }},
      {"dp2_zero2_offload_one_micro_batch", toy_llama,
       [](Scenario& s) {
         deepspeed(s, K::zero2, 2);
         s.batch.micro = 8;
         s.plan.sharding.bucket = 1000;
       }},
      {"dp4_zero3_offload_half", toy_llama,
       [](Scenario& s) {
         deepspeed(s, K::zero3, 4);
         s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = true;
         s.plan.offload.optimizer = 0.5;
       }},
      {"dp2_zero3_offload_sgd", toy_gpt,
       [](Scenario& s) {
         deepspeed(s, K::zero3, 2);
         s.plan.optimizer = OptimizerKind::sgd;
       }},
      {"pp2_dp2_zero3_offload", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         s.plan.sharding.kind = K::zero3;
         s.plan.offload = {.optimizer = 1.0, .overlap = true};
       }},
      {"dp2_offload_fp16_scaled", toy_llama,  // found_inf and the loss scale are the host's too
       [](Scenario& s) {
         deepspeed(s, K::zero1, 2);
         s.plan.precision.compute = Dtype::fp16;
       }},
      {"dp2_offload_no_master", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.precision = {.compute = Dtype::fp32, .params = Dtype::fp32};
         s.plan.offload = {.optimizer = 0.5, .overlap = true};
       }},
      {"moe_dp4_ep2_offload", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         deepseek_experts(s);
         s.plan.sharding.kind = K::zero1;
         s.plan.offload = {.optimizer = 0.5, .overlap = true};
       }},
  };
}

std::vector<PlanCase> activation_plans() {
  return {
      {"offload_activations", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {});
         s.plan.offload.activations = 0.5;
       }},
      {"offload_activations_of_all_layers", toy_gpt,  // masks too
       [](Scenario& s) {
         set_degrees(s, {});
         s.plan.offload.activations = 1.0;
       }},
      {"offload_activations_unfused", toy_bloom,
       [](Scenario& s) {
         set_degrees(s, {});
         s.plan.attention = AttentionKind::unfused;
         s.plan.offload.activations = 0.75;
       }},
      {"tp2_pp2_offload_activations", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2});
         s.plan.offload.activations = 1.0;
       }},
      {"pp2_interleaved_offload_activations", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         s.plan.overlap.pp = true;
         s.plan.offload.activations = 1.0;
       }},
      {"offload_checkpoints", toy_llama,  // what full recomputation keeps
       [](Scenario& s) {
         set_degrees(s, {});
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.offload.activations = 0.75;
       }},
      {"offload_activations_selective", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2});
         megatron_core(s);
         s.plan.recompute = {.kind = RecomputeKind::selective,
                             .modules = {{RecomputeModule::core_attention, RecomputeModule::norm}}};
         s.plan.offload.activations = 0.5;
       }},
      {"dp2_fsdp2_offload_activations", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.sharding = {
             .kind = ShardingKind::fsdp, .overlap_grad_reduce = true, .overlap_param_gather = true};
         s.plan.offload.activations = 0.5;
       }},
      {"moe_dp2_ep2_offload_activations", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         deepseek_experts(s);
         s.plan.offload.activations = 0.75;
       }},
      {"cp2_ring_offload_activations", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.cp = 2});
         s.plan.cp_kind = CpKind::ring;
         s.plan.offload.activations = 0.5;
       }},
  };
}

void fsdp2(Scenario& s, int dp) {
  set_degrees(s, {.dp = dp});
  s.plan.preset = Preset::fsdp2;
  s.plan.sharding.kind = ShardingKind::fsdp;
  s.stack = {.framework = "torchtitan (fsdp2)", .date = "2025-06"};
  s.plan.offload = {.optimizer = 1.0, .params = 1.0};
}

std::vector<PlanCase> parameter_plans() {
  return {
      {"dp2_fsdp2_offload", toy_llama, [](Scenario& s) { fsdp2(s, 2); }},
      {"dp4_hsdp2_offload", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.sharding = {.kind = ShardingKind::hsdp, .shard_degree = 2};
       }},
      {"dp2_fsdp1_offload_recompute", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.preset = Preset::fsdp1;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"dp4_zero3_offload_all", toy_llama,
       [](Scenario& s) {
         deepspeed(s, ShardingKind::zero3, 4);
         s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = true;
         s.plan.offload.params = 1.0;
       }},
      {"tp2_dp2_zero3_offload_blocking", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2});
         s.plan.sharding.kind = ShardingKind::zero3;
         s.plan.offload = {.optimizer = 1.0, .params = 1.0};
       }},
      {"pp2_dp2_fsdp2_offload", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.pp = 2;
       }},
      {"dp2_zero3_offload_everything", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.sharding = {.kind = ShardingKind::zero3,
                            .overlap_grad_reduce = true,
                            .overlap_param_gather = true};
         s.plan.offload = {.optimizer = 1.0, .params = 1.0, .activations = 0.5, .overlap = true};
       }},
  };
}

}  // namespace

std::vector<PlanCase> offload_plans() {
  std::vector<PlanCase> all = optimizer_plans();
  for (const PlanCase& row : activation_plans()) all.push_back(row);
  for (const PlanCase& row : parameter_plans()) all.push_back(row);
  return all;
}

}  // namespace windtunnel::proof
