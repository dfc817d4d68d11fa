#include "tests/proof/moe_plans.h"

#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

// A list is as long as what it lists.
std::vector<PlanCase> layouts() {  // NOLINT(readability-function-size)
  return {
      {"moe", toy_moe, [](Scenario& s) { s.batch.micro = 2; }},
      {"moe_dp2", toy_moe, [](Scenario& s) { set_degrees(s, {.dp = 2}); }},
      {"moe_dp2_ep2", toy_moe, [](Scenario& s) { set_degrees(s, {.dp = 2, .ep = 2}); }},
      {"moe_dp4_ep4", toy_moe, [](Scenario& s) { set_degrees(s, {.dp = 4, .ep = 4}); }},
      {"moe_dp8_ep8", toy_moe, [](Scenario& s) { set_degrees(s, {.dp = 8, .ep = 8}); }},
      {"moe_dp4_ep2", toy_moe, [](Scenario& s) { set_degrees(s, {.dp = 4, .ep = 2}); }},
      {"moe_dp4_ep2_overlap", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.plan.sharding = {.overlap_grad_reduce = true, .bucket = 800};
       }},
      {"moe_dp4_ep2_zero1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.plan.sharding.kind = ShardingKind::zero1;
       }},
      {"moe_dp8_ep2_zero1_overlap", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 8, .ep = 2});
         zero1_overlapped(s);
       }},
      {"moe_dp2_ep2_zero1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         zero1_overlapped(s);
       }},
      {"moe_tp2_sp", toy_moe, [](Scenario& s) { set_degrees(s, {.tp = 2}); }},
      {"moe_tp2_dp2_ep2_etp2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.plan.etp = 2;
       }},
      {"moe_tp2_dp2_ep4_etp1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 4});
         s.plan.etp = 1;
       }},
      {"moe_tp2_dp4_ep4_etp1_zero1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 4, .ep = 4});
         s.plan.etp = 1;
         zero1_overlapped(s);
       }},
      {"moe_tp2_dp2_ep2_etp1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.plan.etp = 1;
       }},
      {"moe_tp2_dp4_ep4_etp1_order", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 4, .ep = 4});
         s.plan.etp = 1;
         s.plan.order = {"dp", "tp", "cp", "ep", "pp"};
       }},
      {"moe_pp2_dp2_ep2_zero1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         zero1_overlapped(s);
       }},
      {"moe_tp2_pp2_dp4_ep2_megatron", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 4, .ep = 2});
         s.plan.preset = Preset::megatron;
         s.stack = {.framework = "megatron-lm", .date = "2024-06"};
         zero1_overlapped(s);
       }},
      {"moe_tp2_dp2_ep2_megatron_2026", toy_moe,  // probabilities travel with their rows
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         megatron_core(s);
         s.model.moe->shared_experts = 1;
         zero1_overlapped(s);
       }},
      {"moe_tp2_dp2_ep4_megatron_2026_overlap", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 4});
         megatron_core(s);
         s.plan.etp = 1;
         s.plan.overlap.ep = true;
         s.model.moe->shared_experts = 1;
         s.model.moe->capacity_factor = 1.25;
         s.plan.recompute = {.kind = RecomputeKind::selective,
                             .modules = {{RecomputeModule::moe_activation}}};
       }},
      {"moe_dp4_ep2_fsdp2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.plan.preset = Preset::fsdp2;
         s.model.moe->shared_experts = 1;
         s.model.moe->dense_layers = 1;
       }},
      {"moe_dp4_ep2_fsdp2_fp16_grads", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.plan.preset = Preset::fsdp2;
         s.plan.precision = {.compute = Dtype::fp16, .grads = Dtype::fp16};
       }},
      {"moe_dp2_ep2_fsdp2", toy_moe,  // experts that no other rank holds
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         s.plan.preset = Preset::fsdp2;
       }},
      {"moe_tp2_dp4_ep4_fsdp2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 4, .ep = 4});
         s.plan.preset = Preset::fsdp2;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"moe_pp2_dp4_ep2_fsdp2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 4, .ep = 2});
         s.plan.preset = Preset::fsdp2;
       }},
      {"moe_dp4_ep2_zero2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.plan.sharding = {
             .kind = ShardingKind::zero2, .overlap_grad_reduce = true, .bucket = 900};
       }},
      {"moe_dp2_ep2_zero2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         s.plan.sharding.kind = ShardingKind::zero2;
       }},
      {"moe_dp4_ep2_zero3", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.plan.preset = Preset::deepspeed;
         s.plan.sharding = {.kind = ShardingKind::zero3, .overlap_param_gather = true};
       }},
      {"moe_dp4_ep4_fsdp1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 4});
         s.plan.preset = Preset::fsdp1;
       }},
      {"moe_fsdp2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.preset = Preset::fsdp2;
       }},
  };
}

std::vector<PlanCase> models_and_schedules() {  // NOLINT(readability-function-size)
  return {
      {"moe_shared", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 2;
       }},
      {"moe_shared_overlap", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 2;
         s.plan.overlap.ep = true;
       }},
      {"moe_shared_tp_overlap", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 2;
         s.plan.overlap.tp = true;
       }},
      {"moe_shared_tp_and_ep_overlap", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 2;
         s.plan.overlap.tp = s.plan.overlap.ep = true;
       }},
      {"moe_shared_overlap_split", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 1;
         s.plan.overlap.ep = true;
         s.plan.schedule.kind = ScheduleKind::zb_h1;
       }},
      {"moe_sigmoid", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         s.model.moe->router_bias = true;
         s.model.moe->shared_experts = 1;
       }},
      {"moe_capacity_drops", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->capacity_factor = 1.0;
       }},
      {"moe_imbalance", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 4, .ep = 2});
         s.batch.micro = 2;
         s.model.moe->imbalance = 1.5;
       }},
      {"moe_padded", toy_moe,  // rows that do not divide by the experts
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->top_k = 3;
       }},
      {"moe_every2", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         s.model.moe->every = 2;
       }},
      {"moe_dense_first", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.model.moe->dense_layers = 1;
       }},
      {"moe_relu2_layernorm", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         s.model.activation = Activation::relu2;
         s.model.norm = NormKind::layernorm;
         s.model.dropout = true;
       }},
      {"moe_full_recompute", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"moe_selective_recompute", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 1;
         s.plan.recompute = {.kind = RecomputeKind::selective,
                             .modules = {{RecomputeModule::moe_activation, RecomputeModule::norm,
                                          RecomputeModule::shared_experts}}};
       }},
      {"moe_module_recompute", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2, .ep = 2});
         s.plan.recompute = {.kind = RecomputeKind::selective, .modules = {{RecomputeModule::moe}}};
       }},
      {"moe_interleaved", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         zero1_overlapped(s);
         s.plan.overlap.pp = true;
       }},
      {"moe_zb_h1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h1;
         zero1_overlapped(s);
       }},
      {"moe_dualpipe", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 1;
         s.plan.schedule.kind = ScheduleKind::dualpipe;
         zero1_overlapped(s);
       }},
      {"moe_dualpipe_v", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.model.moe->shared_experts = 1;
         s.plan.schedule.kind = ScheduleKind::dualpipe_v;
         zero1_overlapped(s);
       }},
  };
}

}  // namespace

Scenario toy_moe() {
  Scenario s = toy_llama();
  s.model.moe = MoeShape{.experts = 8, .top_k = 2, .ffn = 12};
  return s;
}

std::vector<PlanCase> moe_plans() {
  std::vector<PlanCase> plans = layouts();
  for (const PlanCase& row : models_and_schedules()) plans.push_back(row);
  return plans;
}

}  // namespace windtunnel::proof
