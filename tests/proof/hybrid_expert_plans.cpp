#include "tests/proof/hybrid_expert_plans.h"

#include "tests/proof/moe_plans.h"
#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

void hybrid(Scenario& s, const Degrees& degrees, int shard_degree) {
  set_degrees(s, degrees);
  s.plan.preset = Preset::fsdp2;
  s.plan.sharding = {.kind = ShardingKind::hsdp, .shard_degree = shard_degree};
}

}  // namespace

// A list is as long as what it lists.
std::vector<PlanCase> hybrid_expert_plans() {  // NOLINT(readability-function-size)
  using K = ShardingKind;
  return {
      {"moe_dp8_ep2_hsdp4", toy_moe,
       [](Scenario& s) {
         hybrid(s, {.dp = 8, .ep = 2}, 4);
         s.model.moe->shared_experts = 1;
         s.model.moe->dense_layers = 1;
       }},
      {"moe_dp4_ep2_hsdp2", toy_moe,  // no other rank of a shard group holds a rank's experts
       [](Scenario& s) { hybrid(s, {.dp = 4, .ep = 2}, 2); }},
      {"moe_dp4_ep2_hsdp2_overlap", toy_moe,
       [](Scenario& s) {
         hybrid(s, {.dp = 4, .ep = 2}, 2);
         s.plan.sharding.overlap_grad_reduce = s.plan.sharding.overlap_param_gather = true;
         s.plan.sharding.separate_reduce_group = true;
       }},
      {"moe_dp8_ep2_hsdp4_fp16_grads", toy_moe,
       [](Scenario& s) {
         hybrid(s, {.dp = 8, .ep = 2}, 4);
         s.plan.precision = {.compute = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"moe_tp2_dp4_ep2_hsdp2", toy_moe,  // an expert group is a tensor-parallel one
       [](Scenario& s) {
         hybrid(s, {.tp = 2, .dp = 4, .ep = 2}, 2);
         s.plan.etp = 1;
       }},
      {"moe_tp2_dp4_ep4_hsdp4_no_reshard", toy_moe,
       [](Scenario& s) {
         hybrid(s, {.tp = 2, .dp = 8, .ep = 4}, 4);
         s.plan.etp = 1;
         s.plan.sharding.reshard_after_forward = 0;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"moe_cp2_dp4_ep2_hsdp4", toy_moe,
       [](Scenario& s) {
         hybrid(s, {.cp = 2, .dp = 4, .ep = 2}, 4);
         s.plan.cp_kind = CpKind::all_gather;
       }},
      {"moe_pp2_dp4_ep2_hsdp2", toy_moe,
       [](Scenario& s) { hybrid(s, {.pp = 2, .dp = 4, .ep = 2}, 2); }},
      {"moe_dp4_ep2_fsdp1_hsdp2", toy_moe,
       [](Scenario& s) {
         hybrid(s, {.dp = 4, .ep = 2}, 2);
         s.plan.preset = Preset::fsdp1;
       }},
      {"moe_dp8_ep2_zero1_shards_of_4", toy_moe,  // Megatron's distributed-optimizer instances
       [](Scenario& s) {
         set_degrees(s, {.dp = 8, .ep = 2});
         zero1_overlapped(s);
         s.plan.sharding.shard_degree = 4;
       }},
      {"moe_cp2_dp4_ep2_zero1_shards_of_2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.cp = 2, .dp = 4, .ep = 2});
         s.plan.cp_kind = CpKind::ring;
         s.plan.sharding = {.kind = K::zero1, .shard_degree = 2};
       }},
      {"moe_dp8_ep2_zero2_shards_of_4", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 8, .ep = 2});
         s.plan.sharding = {
             .kind = K::zero2, .shard_degree = 4, .overlap_grad_reduce = true, .bucket = 900};
       }},
  };
}

}  // namespace windtunnel::proof
