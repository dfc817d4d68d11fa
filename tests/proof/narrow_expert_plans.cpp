#include "tests/proof/narrow_expert_plans.h"

#include "tests/proof/moe_plans.h"

namespace windtunnel::proof {

namespace {

struct Degrees {
  int tp = 1, pp = 1, dp = 1, ep = 1;
};

/// Megatron's stack, whose experts' rows are padded.
void megatron(Scenario& s, const Degrees& d, const char* date = "2026-01") {
  s.plan.tp = d.tp;
  s.plan.pp = d.pp;
  s.plan.dp = d.dp;
  s.plan.ep = d.ep;
  s.plan.sequence_parallel = d.tp > 1;
  s.plan.preset = Preset::megatron;
  s.stack = {.framework = "megatron-core", .date = date};
}

void fp8(Scenario& s, ScalingRecipe recipe) {
  s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = recipe};
}

void recompute(Scenario& s, std::vector<RecomputeModule> modules) {
  s.plan.recompute.kind = RecomputeKind::selective;
  s.plan.recompute.modules = std::move(modules);
}

// A list is as long as what it lists.
std::vector<PlanCase> recipes() {  // NOLINT(readability-function-size)
  return {
      {"moe_ep2_fp8_delayed", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 4, .ep = 2});
         s.model.moe->shared_experts = 1;
         fp8(s, ScalingRecipe::delayed);
       }},
      {"moe_ep2_fp8_tensorwise", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2});
         fp8(s, ScalingRecipe::tensorwise);
       }},
      {"moe_ep2_fp8_one_layout", toy_moe,
       [](Scenario& s) {
         megatron(s, {.tp = 2, .dp = 2, .ep = 2});
         s.cluster.device = "b200-sxm-180gb";
         s.model.moe->shared_experts = 1;
         fp8(s, ScalingRecipe::tensorwise);
       }},
      {"moe_ep2_fp8_bridge", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2});
         s.stack.framework = "megatron-bridge";
         s.plan.precision.compute = Dtype::fp8;
       }},
      {"moe_ep2_etp2_fp8_blockwise", toy_moe,
       [](Scenario& s) {
         megatron(s, {.tp = 2, .dp = 2, .ep = 2});
         s.plan.etp = 2;
         s.model.moe->shared_experts = 1;
         fp8(s, ScalingRecipe::blockwise);
       }},
      {"moe_ep2_mxfp8", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2});
         s.model.moe->dense_layers = 1;
         s.plan.precision.compute = Dtype::mxfp8;
       }},
      {"moe_ep2_nvfp4", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 4, .ep = 2});
         s.plan.sharding = {.kind = ShardingKind::zero1,
                            .overlap_grad_reduce = true,
                            .overlap_param_gather = true,
                            .bucket = 1000};
         s.plan.precision.compute = Dtype::nvfp4;
       }},
      {"moe_ep2_fp8_not_padded", toy_moe,  // 16 rows of an expert from each of two ranks
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2});
         s.batch.micro = 8;
         fp8(s, ScalingRecipe::delayed);
       }},
      {"moe_ep2_mxfp8_capacity_drops", toy_moe,
       [](Scenario& s) {
         megatron(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->capacity_factor = 1.0;
         s.plan.precision.compute = Dtype::mxfp8;
       }},
  };
}

// A list is as long as what it lists.
std::vector<PlanCase> schedules_and_recomputation() {  // NOLINT(readability-function-size)
  using M = RecomputeModule;
  return {
      {"moe_ep2_fp8_zb_h1", toy_moe,
       [](Scenario& s) {
         megatron(s, {.pp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 1;
         s.plan.schedule.kind = ScheduleKind::zb_h1;
         fp8(s, ScalingRecipe::delayed);
       }},
      {"moe_ep2_mxfp8_zb_v", toy_moe,
       [](Scenario& s) {
         megatron(s, {.pp = 2, .dp = 2, .ep = 2});
         s.plan.schedule.kind = ScheduleKind::zb_v;
         recompute(s, {M::moe_activation});
         s.plan.precision.compute = Dtype::mxfp8;
       }},
      {"moe_ep4_etp1_mxfp8_recomputes_parts", toy_moe,
       [](Scenario& s) {
         megatron(s, {.tp = 2, .dp = 2, .ep = 4});
         s.plan.etp = 1;
         s.plan.overlap.ep = true;
         s.model.moe->shared_experts = 1;
         recompute(s, {M::moe_activation, M::norm, M::shared_experts});
         s.plan.precision.compute = Dtype::mxfp8;
       }},
      {"moe_ep2_fp8_recomputes_norm", toy_moe,  // the shared experts' input is quantised again
       [](Scenario& s) {
         megatron(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 2;
         recompute(s, {M::norm});
         fp8(s, ScalingRecipe::tensorwise);
       }},
      {"moe_ep2_fp8_2024_recomputes_activation", toy_moe,  // probabilities weigh the output
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2}, "2024-06");
         recompute(s, {M::moe_activation});
         fp8(s, ScalingRecipe::delayed);
       }},
      {"moe_ep2_fp8_recomputes_experts", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2});
         recompute(s, {M::moe});
         fp8(s, ScalingRecipe::blockwise);
       }},
      {"moe_ep2_fp8_full_recompute", toy_moe,
       [](Scenario& s) {
         megatron(s, {.dp = 2, .ep = 2});
         s.model.moe->shared_experts = 1;
         s.plan.recompute.kind = RecomputeKind::full;
         fp8(s, ScalingRecipe::delayed);
       }},
      {"moe_ep2_fsdp2_fp8_compiled", toy_moe,  // weights are quantised at each use
       [](Scenario& s) {
         s.plan.dp = 4;
         s.plan.ep = 2;
         s.plan.preset = Preset::fsdp2;
         s.stack = {.framework = "torchtitan (fsdp2)", .date = "2026-01"};
         s.model.moe->shared_experts = 1;
         s.plan.compile = true;
         s.plan.precision.compute = Dtype::fp8;
       }},
  };
}

}  // namespace

std::vector<PlanCase> narrow_expert_plans() {
  std::vector<PlanCase> plans = recipes();
  for (const PlanCase& row : schedules_and_recomputation()) plans.push_back(row);
  return plans;
}

}  // namespace windtunnel::proof
