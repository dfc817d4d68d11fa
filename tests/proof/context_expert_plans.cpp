#include "tests/proof/context_expert_plans.h"

#include "tests/proof/moe_plans.h"
#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

void over(Scenario& s, CpKind kind, const Degrees& d) {
  set_degrees(s, d);
  s.plan.cp_kind = kind;
}

// A list is as long as what it lists.
std::vector<PlanCase> layouts() {  // NOLINT(readability-function-size)
  using enum CpKind;
  return {
      {"moe_cp2_ring", toy_moe, [](Scenario& s) { over(s, ring, {.cp = 2}); }},
      {"moe_cp2_ep2_ring", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .ep = 2});
         s.batch.micro = 2;
       }},
      {"moe_cp2_ep2_gather", toy_moe, [](Scenario& s) { over(s, all_gather, {.cp = 2, .ep = 2}); }},
      {"moe_cp2_ep2_ulysses", toy_moe, [](Scenario& s) { over(s, ulysses, {.cp = 2, .ep = 2}); }},
      {"moe_cp4_dp2_ep8_ulysses_ring", toy_moe,
       [](Scenario& s) {
         over(s, ulysses_ring, {.cp = 4, .dp = 2, .ep = 8});
         s.batch.micro = 2;
       }},
      {"moe_cp2_dp2_ep2", toy_moe,  // experts shared out over cp, held alike over dp
       [](Scenario& s) { over(s, ring, {.cp = 2, .dp = 2, .ep = 2}); }},
      {"moe_cp2_dp2_ep4", toy_moe, [](Scenario& s) { over(s, ring, {.cp = 2, .dp = 2, .ep = 4}); }},
      {"moe_cp4_dp2_ep2_zero1_overlap", toy_moe,  // groups inside a context-parallel group
       [](Scenario& s) {
         over(s, ring, {.cp = 4, .dp = 2, .ep = 2});
         s.plan.overlap.cp = true;
         zero1_overlapped(s);
       }},
      {"moe_cp2_dp4_ep4_zero1", toy_moe,  // and of two of these
       [](Scenario& s) {
         over(s, all_gather, {.cp = 2, .dp = 4, .ep = 4});
         zero1_overlapped(s);
       }},
      {"moe_dp2_inside_cp2_ep2_zero1", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .dp = 2, .ep = 2});
         s.plan.sharding.kind = ShardingKind::zero1;
         s.plan.order = {"dp", "tp", "cp", "pp"};
       }},
      {"moe_pp_inside_cp2_dp2_ep4", toy_moe,
       [](Scenario& s) {
         over(s, ulysses, {.pp = 2, .cp = 2, .dp = 2, .ep = 4});
         s.plan.order = {"tp", "pp", "cp", "dp"};
       }},
      {"moe_tp2_cp2_ep2_etp2", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.tp = 2, .cp = 2, .ep = 2});
         s.plan.etp = 2;
       }},
      {"moe_tp2_cp2_ep2_etp1", toy_moe,
       [](Scenario& s) {
         over(s, all_gather, {.tp = 2, .cp = 2, .ep = 2});
         s.plan.etp = 1;
       }},
      {"moe_tp2_cp2_dp2_ep4_etp1_zero1", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.tp = 2, .cp = 2, .dp = 2, .ep = 4});
         s.plan.etp = 1;
         zero1_overlapped(s);
       }},
      {"moe_cp2_dp2_ep2_fsdp2", toy_moe,
       [](Scenario& s) {
         over(s, all_gather, {.cp = 2, .dp = 2, .ep = 2});
         s.plan.preset = Preset::fsdp2;
         s.model.moe->shared_experts = 1;
         s.model.moe->dense_layers = 1;
       }},
      {"moe_tp2_cp2_dp2_ep4_fsdp2", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.tp = 2, .cp = 2, .dp = 2, .ep = 4});
         s.plan.preset = Preset::fsdp2;
       }},
      {"moe_cp2_dp2_ep4_fsdp2", toy_moe,  // experts that no other rank holds
       [](Scenario& s) {
         over(s, ulysses, {.cp = 2, .dp = 2, .ep = 4});
         s.plan.preset = Preset::fsdp2;
       }},
      {"moe_cp2_dp2_ep2_fsdp2_fp16_grads", toy_moe,  // divided before and behind the sum
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .dp = 2, .ep = 2});
         s.plan.preset = Preset::fsdp2;
         s.plan.precision = {.compute = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"moe_cp2_dp2_ep2_zero2", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .dp = 2, .ep = 2});
         s.plan.sharding.kind = ShardingKind::zero2;
       }},
  };
}

// A list is as long as what it lists.
std::vector<PlanCase> models_and_schedules() {  // NOLINT(readability-function-size)
  using enum CpKind;
  return {
      {"moe_cp2_capacity_drops", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .dp = 2, .ep = 4});
         s.batch.micro = 2;
         s.model.moe->capacity_factor = 1.0;
       }},
      {"moe_tp2_cp2_capacity_drops", toy_moe,
       [](Scenario& s) {
         over(s, all_gather, {.tp = 2, .cp = 2, .ep = 2});
         s.batch.micro = 2;
         s.model.moe->capacity_factor = 1.0;
       }},
      {"moe_cp4_imbalance", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 4, .ep = 4});
         s.model.moe->imbalance = 1.5;
       }},
      {"moe_cp2_padded", toy_moe,  // rows that do not divide by the experts
       [](Scenario& s) {
         over(s, ring, {.tp = 2, .cp = 2, .ep = 2});
         s.model.moe->top_k = 3;
       }},
      {"moe_cp2_shared_overlap", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.tp = 2, .cp = 2, .ep = 2});
         s.plan.overlap.cp = s.plan.overlap.ep = true;
         s.model.moe->shared_experts = 2;
       }},
      {"moe_cp2_recompute", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .ep = 2});
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"moe_pp2_cp2_dp2_ep2_zero1", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.pp = 2, .cp = 2, .dp = 2, .ep = 2});
         zero1_overlapped(s);
       }},
      {"moe_tp2_pp2_cp2_dp2_ep4_megatron", toy_moe,  // probabilities travel with their rows
       [](Scenario& s) {
         over(s, ring, {.tp = 2, .pp = 2, .cp = 2, .dp = 2, .ep = 4});
         megatron_core(s);
         s.plan.etp = 1;
         s.model.moe->shared_experts = 1;
         s.plan.recompute = {.kind = RecomputeKind::selective,
                             .modules = {{RecomputeModule::moe_activation}}};
         zero1_overlapped(s);
       }},
      {"moe_pp2_cp2_ep2_interleaved", toy_moe,
       [](Scenario& s) {
         over(s, ulysses, {.pp = 2, .cp = 2, .dp = 2, .ep = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         s.plan.overlap.pp = true;
         zero1_overlapped(s);
       }},
      {"moe_pp2_cp2_ep2_zb_h1", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.pp = 2, .cp = 2, .ep = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h1;
         zero1_overlapped(s);
       }},
      {"moe_pp2_cp2_dp2_ep4_dualpipe_v", toy_moe,
       [](Scenario& s) {
         over(s, all_gather, {.pp = 2, .cp = 2, .dp = 2, .ep = 4});
         s.model.moe->shared_experts = 1;
         s.plan.schedule.kind = ScheduleKind::dualpipe_v;
         zero1_overlapped(s);
       }},
      {"moe_cp2_ep2_mxfp8", toy_moe,
       [](Scenario& s) {
         over(s, ring, {.cp = 2, .dp = 2, .ep = 2});
         megatron_core(s);
         s.cluster.device = "b200-sxm-180gb";
         s.plan.precision.compute = Dtype::mxfp8;
       }},
  };
}

}  // namespace

std::vector<PlanCase> context_expert_plans() {
  std::vector<PlanCase> plans = layouts();
  for (const PlanCase& row : models_and_schedules()) plans.push_back(row);
  return plans;
}

}  // namespace windtunnel::proof
