#include "tests/proof/tp_overlap_plans.h"

namespace windtunnel::proof {

namespace {

struct Degrees {
  int tp = 2, pp = 1, dp = 1;
};

void overlap(Scenario& s, const Degrees& d) {
  s.plan.tp = d.tp;
  s.plan.pp = d.pp;
  s.plan.dp = d.dp;
  s.plan.sequence_parallel = true;
  s.plan.overlap.tp = true;
}

void four_key_heads(Scenario& s) {
  s.model.kv_heads = 4;
}

void userbuffers(Scenario& s, const Degrees& d) {
  overlap(s, d);
  s.stack = {.framework = "megatron-lm", .date = "2025-06"};
  s.plan.preset = Preset::megatron;
}

void symmetric_memory(Scenario& s, const Degrees& d) {
  overlap(s, d);
  s.stack = {.framework = "torchtitan", .date = "2025-06"};
  s.plan.preset = Preset::fsdp2;
  s.plan.sharding.kind = ShardingKind::fsdp;
}

void recompute(Scenario& s, std::vector<RecomputeModule> modules) {
  s.plan.recompute = {.kind = RecomputeKind::selective, .modules = std::move(modules)};
}

/// Buckets of a few parameters, reduced and gathered beside the computation.
void small_buckets(Scenario& s) {
  s.plan.sharding = {.kind = ShardingKind::zero1,
                     .overlap_grad_reduce = true,
                     .overlap_param_gather = true,
                     .bucket = 1000};
}

}  // namespace

// A list is as long as what it lists.
std::vector<PlanCase> tp_overlap_plans() {  // NOLINT(readability-function-size)
  using M = RecomputeModule;
  return {
      {"tp2_overlap", toy_gpt, [](Scenario& s) { overlap(s, {}); }},
      {"tp4_overlap", toy_gpt,
       [](Scenario& s) {
         overlap(s, {.tp = 4});
         s.batch.micro = 2;
       }},
      {"tp4_overlap_bloom_first_ranks_of_dp", toy_bloom,  // tp places apart in rank order
       [](Scenario& s) {
         overlap(s, {.tp = 4, .dp = 2});
         s.plan.order = {"dp", "tp", "cp", "pp"};
       }},
      {"tp2_pp2_dp2_overlap_interleaved", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {.tp = 2, .pp = 2, .dp = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         small_buckets(s);
       }},
      {"tp4_pp2_dp2_overlap_recompute", toy_gpt,
       [](Scenario& s) {
         userbuffers(s, {.tp = 4, .pp = 2, .dp = 2});
         small_buckets(s);
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"tp2_overlap_recomputes_attention_and_mlp", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {});
         recompute(s, {M::attention, M::mlp});
       }},
      {"tp2_overlap_recomputes_norm_and_activation", toy_gpt,
       [](Scenario& s) {
         userbuffers(s, {});
         recompute(s, {M::norm, M::activation});
       }},
      {"tp2_pp2_overlap_zb_h1", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {.pp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h1;
       }},
      {"tp2_cp2_overlap", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {});
         s.plan.cp = 2;
       }},
      {"tp2_overlap_graphs", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {});
         s.plan.cuda_graphs = true;
       }},
      {"tp4_overlap_fp8_delayed", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {.tp = 4});
         four_key_heads(s);
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"tp2_pp2_dp2_overlap_fp8_tensorwise_recompute", toy_gpt,
       [](Scenario& s) {
         userbuffers(s, {.tp = 2, .pp = 2, .dp = 2});
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::tensorwise};
       }},
      {"tp2_overlap_mxfp8", toy_llama,
       [](Scenario& s) {
         userbuffers(s, {});
         s.plan.precision.compute = Dtype::mxfp8;
       }},
      {"tp2_dp2_async_tp", toy_llama, [](Scenario& s) { symmetric_memory(s, {.dp = 2}); }},
      {"tp2_dp2_async_tp_recomputes_norm", toy_gpt,
       [](Scenario& s) {
         symmetric_memory(s, {.dp = 2});
         recompute(s, {M::norm});
       }},
      {"tp4_dp2_async_tp_recompute", toy_gpt,
       [](Scenario& s) {
         symmetric_memory(s, {.tp = 4, .dp = 2});
         s.plan.recompute.kind = RecomputeKind::full;
         s.plan.compile = true;
       }},
      {"tp4_dp2_async_tp_fp8", toy_llama,
       [](Scenario& s) {
         symmetric_memory(s, {.tp = 4, .dp = 2});
         four_key_heads(s);
         s.plan.precision.compute = Dtype::fp8;
       }},
  };
}

}  // namespace windtunnel::proof
