#include "tests/proof/context_plans.h"

namespace windtunnel::proof {

namespace {

struct Degrees {
  int tp = 1, pp = 1, dp = 1, cp = 2;
};

void split(Scenario& s, CpKind kind, const Degrees& d) {
  s.plan.tp = d.tp;
  s.plan.pp = d.pp;
  s.plan.dp = d.dp;
  s.plan.cp = d.cp;
  s.plan.cp_kind = kind;
  s.plan.sequence_parallel = d.tp > 1;
}

/// Keys and values travel beside attention, gradients and weights beside the passes.
void overlapped(Scenario& s) {
  s.plan.preset = Preset::megatron;
  s.stack = {.framework = "megatron-lm", .date = "2025-06"};
  s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = true;
  s.plan.sharding.bucket = 1000;
}

}  // namespace

std::vector<PlanCase> context_plans() {
  using enum CpKind;
  using K = ShardingKind;
  return {
      {"cp2_ring", toy_llama, [](Scenario& s) { split(s, ring, {}); }},
      {"cp2_ring_overlap", toy_llama,
       [](Scenario& s) {
         split(s, ring, {});
         s.plan.overlap.cp = true;
       }},
      {"cp2_ulysses_sliding_window", toy_llama,
       [](Scenario& s) {
         split(s, ulysses, {});
         s.model.sliding_window = 3;
       }},
      {"cp4_ring", toy_gpt,
       [](Scenario& s) {
         split(s, ring, {.cp = 4});
         s.batch.micro = 2;
       }},
      {"cp4_ring_overlap", toy_llama,
       [](Scenario& s) {
         split(s, ring, {.cp = 4});
         overlapped(s);
       }},
      {"cp2_gather", toy_gpt, [](Scenario& s) { split(s, all_gather, {}); }},
      {"cp4_gather", toy_llama,
       [](Scenario& s) {
         split(s, all_gather, {.cp = 4});
         s.batch.micro = 2;
       }},
      {"cp2_ulysses", toy_llama, [](Scenario& s) { split(s, ulysses, {}); }},
      {"cp4_ulysses", toy_gpt, [](Scenario& s) { split(s, ulysses, {.cp = 4}); }},
      {"cp2_ulysses_bloom", toy_bloom,
       [](Scenario& s) {
         split(s, ulysses, {});
         s.batch.micro = 2;
       }},
      {"tp2_cp2_ulysses_unfused", toy_gpt,
       [](Scenario& s) {
         split(s, ulysses, {.tp = 2});
         s.plan.attention = AttentionKind::unfused;
       }},
      {"cp4_ulysses_ring", toy_llama,  // two key/value heads: pairs exchange
       [](Scenario& s) {
         split(s, ulysses_ring, {.cp = 4});
         s.batch.micro = 2;
       }},
      {"cp4_ulysses_ring_overlap", toy_gpt,
       [](Scenario& s) {
         split(s, ulysses_ring, {.cp = 4});
         s.cluster.nvlink_domain = 2;
         overlapped(s);
       }},
      {"tp2_sp_cp2_ring", toy_gpt, [](Scenario& s) { split(s, ring, {.tp = 2}); }},
      {"tp2_sp_cp2_gather", toy_llama, [](Scenario& s) { split(s, all_gather, {.tp = 2}); }},
      {"tp2_cp2_ring_no_sp", toy_llama,
       [](Scenario& s) {
         split(s, ring, {.tp = 2});
         s.plan.sequence_parallel = false;
       }},
      {"cp2_dp2_ring_zero1", toy_llama,
       [](Scenario& s) {
         split(s, ring, {.dp = 2});
         s.plan.sharding.kind = K::zero1;
       }},
      {"cp2_dp2_ring_zero1_overlap", toy_gpt,
       [](Scenario& s) {
         split(s, ring, {.dp = 2});
         overlapped(s);
         s.plan.sharding.kind = K::zero1;
       }},
      {"cp2_dp2_gather_zero2", toy_llama,
       [](Scenario& s) {
         split(s, all_gather, {.dp = 2});
         s.plan.sharding.kind = K::zero2;
       }},
      {"cp2_dp2_ring_zero3", toy_gpt,
       [](Scenario& s) {
         split(s, ring, {.dp = 2});
         s.plan.sharding.kind = K::zero3;
       }},
      {"cp2_dp2_gather_fsdp2", toy_llama,
       [](Scenario& s) {
         split(s, all_gather, {.dp = 2});
         s.plan.preset = Preset::fsdp2;
         s.stack = {.framework = "torchtitan (fsdp2)", .date = "2025-06"};
       }},
      {"cp2_dp2_gather_fsdp2_fp16_grads", toy_llama,  // divided before and behind the sum
       [](Scenario& s) {
         split(s, all_gather, {.dp = 2});
         s.plan.preset = Preset::fsdp2;
         s.plan.precision = {.compute = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"cp2_dp4_ring_hsdp4", toy_llama,  // shard groups of two context-parallel groups
       [](Scenario& s) {
         split(s, ring, {.dp = 4});
         s.plan.preset = Preset::fsdp2;
         s.plan.sharding = {.kind = K::hsdp, .shard_degree = 4};
       }},
      {"cp4_dp2_ulysses_ring_zero1_shards_of_2", toy_gpt,  // and inside one
       [](Scenario& s) {
         split(s, ulysses_ring, {.dp = 2, .cp = 4});
         s.cluster.nvlink_domain = 2;
         s.plan.sharding = {.kind = K::zero1, .shard_degree = 2};
       }},
      {"dp2_inside_cp2_ring_zero1", toy_llama,
       [](Scenario& s) {
         split(s, ring, {.dp = 2});
         s.plan.sharding.kind = K::zero1;
         s.plan.order = {"dp", "tp", "cp", "pp"};
       }},
      {"pp2_cp2_ring", toy_gpt, [](Scenario& s) { split(s, ring, {.pp = 2}); }},
      {"pp2_cp2_ulysses_interleaved", toy_llama,
       [](Scenario& s) {
         split(s, ulysses, {.pp = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
       }},
      {"pp2_cp2_ring_interleaved_overlap", toy_llama,
       [](Scenario& s) {
         split(s, ring, {.pp = 2});
         overlapped(s);
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
       }},
      {"cp2_ring_recompute", toy_gpt,
       [](Scenario& s) {
         split(s, ring, {});
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.overlap.cp = true;
       }},
      {"cp2_ulysses_recompute_core", toy_llama,
       [](Scenario& s) {
         split(s, ulysses, {});
         s.plan.recompute.kind = RecomputeKind::selective;
       }},
      {"tp2_pp2_dp2_cp2_ring", toy_llama,
       [](Scenario& s) {
         split(s, ring, {.tp = 2, .pp = 2, .dp = 2});
         overlapped(s);
         s.plan.sharding.kind = K::zero1;
       }},
      {"tp2_pp2_dp2_cp2_gather", toy_gpt,
       [](Scenario& s) { split(s, all_gather, {.tp = 2, .pp = 2, .dp = 2}); }},
  };
}

}  // namespace windtunnel::proof
