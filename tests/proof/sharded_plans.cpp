#include "tests/proof/sharded_plans.h"

namespace windtunnel::proof {

namespace {

void degrees(Scenario& s, int tp, int pp, int dp) {
  s.plan.tp = tp;
  s.plan.pp = pp;
  s.plan.dp = dp;
}

void shard(Scenario& s, Preset preset, ShardingKind kind) {
  s.plan.preset = preset;
  s.plan.sharding.kind = kind;
}

void fsdp2(Scenario& s, int dp, const char* date = "2025-06") {
  degrees(s, 1, 1, dp);
  shard(s, Preset::fsdp2, ShardingKind::fsdp);
  s.stack = {.framework = "torchtitan (fsdp2)", .date = date};
}

}  // namespace

std::vector<PlanCase> sharded_plans() {
  using K = ShardingKind;
  return {
      {"dp4_zero1_shards_of_2", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 4);
         shard(s, Preset::none, K::zero1);
         s.plan.sharding.shard_degree = 2;
       }},
      {"tp2_pp2_dp4_zero1_shards_of_2_overlap", toy_llama,
       [](Scenario& s) {
         degrees(s, 2, 2, 4);
         s.plan.sequence_parallel = true;
         shard(s, Preset::megatron, K::zero1);
         s.plan.sharding = {.kind = K::zero1,
                            .shard_degree = 2,
                            .overlap_grad_reduce = true,
                            .overlap_param_gather = true,
                            .bucket = 1000};
       }},
      {"dp2_zero2", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         shard(s, Preset::none, K::zero2);
         s.plan.sharding.bucket = 1000;
       }},
      {"dp4_zero2_overlap", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 1, 4);
         shard(s, Preset::deepspeed, K::zero2);
         s.plan.sharding.bucket = 1500;
         s.plan.sharding.overlap_grad_reduce = true;
       }},
      {"tp2_sp_dp2_zero2", toy_gpt,
       [](Scenario& s) {
         degrees(s, 2, 1, 2);
         s.plan.sequence_parallel = true;
         shard(s, Preset::none, K::zero2);
         s.plan.sharding.bucket = 700;
         s.plan.sharding.overlap_grad_reduce = true;
       }},
      {"pp2_dp2_zero2", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 2, 2);
         shard(s, Preset::none, K::zero2);
       }},
      {"dp2_zero3", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         shard(s, Preset::none, K::zero3);
       }},
      {"dp4_zero3_deepspeed", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 1, 4);
         shard(s, Preset::deepspeed, K::zero3);
         s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = true;
       }},
      {"dp2_fsdp2", toy_llama, [](Scenario& s) { fsdp2(s, 2); }},
      {"dp4_fsdp2_root", toy_gpt, [](Scenario& s) { fsdp2(s, 4, "2024-06"); }},
      {"dp3_fsdp2_padded", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 3);
         s.batch.global = 12;
       }},
      {"dp2_fsdp2_blocking", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = false;
       }},
      {"dp2_fsdp2_no_reshard", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.sharding.reshard_after_forward = 0;
       }},
      {"dp4_fsdp2_keeps_half", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.sharding.reshard_after_forward = 2;
       }},
      {"dp4_fsdp2_every_layer_keeps_half", toy_llama,  // the last is gathered again at once
       [](Scenario& s) {
         fsdp2(s, 4, "2024-06");
         s.stack.framework = "pytorch";
         s.plan.sharding.reshard_after_forward = 2;
       }},
      {"dp2_fsdp2_prefetch2", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.sharding.prefetch = 2;
       }},
      {"dp2_fsdp2_recompute", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"dp4_hsdp2", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.sharding = {.kind = K::hsdp, .shard_degree = 2};
       }},
      {"tp2_dp4_hsdp2", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.sharding = {.kind = K::hsdp, .shard_degree = 2};
       }},
      {"tp2_dp2_fsdp2", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
       }},
      {"pp2_dp2_fsdp2", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.pp = 2;
       }},
      {"tp2_dp2_fsdp2_recomputes_norm", toy_llama,  // not the gathered rows, which are kept
       [](Scenario& s) {
         degrees(s, 2, 1, 2);
         s.plan.sequence_parallel = true;
         shard(s, Preset::fsdp2, K::fsdp);
         s.plan.recompute = {.kind = RecomputeKind::selective,
                             .modules = {{RecomputeModule::norm}}};
       }},
      {"tp2_pp2_dp2_fsdp2_interleaved", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.tp = s.plan.pp = 2;
         s.plan.sequence_parallel = true;
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
       }},
      {"pp2_dp2_fsdp2_interleaved_overlap", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.pp = 2;
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         s.plan.overlap.pp = true;
       }},
      {"pp2_dp2_fsdp2_reshard", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.pp = 2;
         s.plan.sharding.reshard_after_forward = 1;
       }},
      {"pp2_dp4_hsdp2_gpipe", toy_llama,
       [](Scenario& s) {
         fsdp2(s, 4);
         s.plan.pp = 2;
         s.plan.schedule.kind = ScheduleKind::gpipe;
         s.plan.sharding = {.kind = K::hsdp, .shard_degree = 2};
       }},
      {"dp2_fsdp2_bf16_shards", toy_llama,  // reduced in fp32, kept in bf16
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.precision.params = Dtype::bf16;
         s.plan.precision.master = Dtype::none;
       }},
      {"dp4_fsdp2_fp16_shards", toy_llama,  // reduced into a shard of the reductions' type
       [](Scenario& s) {
         s.plan.dp = 4;
         s.plan.preset = Preset::fsdp2;
         s.plan.precision = {.compute = Dtype::fp16, .params = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"dp2_fsdp2_sgd", toy_gpt,
       [](Scenario& s) {
         fsdp2(s, 2);
         s.plan.optimizer = OptimizerKind::sgd;
       }},
      {"dp2_fsdp1", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         shard(s, Preset::fsdp1, K::fsdp);
       }},
      {"dp4_fsdp1_recompute", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 1, 4);
         shard(s, Preset::fsdp1, K::fsdp);
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"dp4_fsdp1_hybrid", toy_llama,
       [](Scenario& s) {
         degrees(s, 1, 1, 4);
         shard(s, Preset::fsdp1, K::hsdp);
         s.plan.sharding.shard_degree = 2;
       }},
      {"dp2_ddp", toy_gpt,
       [](Scenario& s) {
         degrees(s, 1, 1, 2);
         s.plan.preset = Preset::ddp;
         s.plan.sharding.bucket = 1000;
       }},
  };
}

}  // namespace windtunnel::proof
