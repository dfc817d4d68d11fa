#include "tests/proof/prediction_plans.h"

#include "tests/proof/latent_plans.h"
#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

Scenario tied() {
  Scenario s = toy_prediction();
  s.model.tied_embeddings = true;
  return s;
}

}  // namespace

Scenario toy_prediction() {
  Scenario s = toy_llama();
  s.model.mtp_layers = 1;
  return s;
}

// A list is as long as what it lists.
std::vector<PlanCase> prediction_plans() {  // NOLINT(readability-function-size)
  return {
      {"mtp_micro2", toy_prediction, [](Scenario& s) { s.batch.micro = 2; }},
      {"mtp_two_depths", toy_prediction,
       [](Scenario& s) {
         s.model.mtp_layers = 2;
         set_degrees(s, {.tp = 2, .pp = 2});
       }},
      {"mtp_tp2", toy_prediction, [](Scenario& s) { s.plan.tp = 2; }},
      {"mtp_tp2_sp", toy_prediction, [](Scenario& s) { set_degrees(s, {.tp = 2}); }},
      {"mtp_pp2", toy_prediction, [](Scenario& s) { set_degrees(s, {.pp = 2}); }},
      {"mtp_pp4", toy_prediction, [](Scenario& s) { set_degrees(s, {.pp = 4}); }},
      {"mtp_dp2_overlap", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.sharding = {.overlap_grad_reduce = true, .bucket = 700};
       }},
      {"mtp_tp2_pp2_dp2_zero1", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"mtp_dp2_zero2", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.sharding.kind = ShardingKind::zero2;
       }},
      {"mtp_interleaved_megatron", toy_prediction,
       [](Scenario& s) {
         megatron_core(s);
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         zero1_overlapped(s);
       }},
      {"mtp_tied", tied, [](Scenario&) {}},
      {"mtp_tied_pp2_dp2_zero1", tied,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"mtp_tied_two_depths_tp2_pp2", tied,
       [](Scenario& s) {
         s.model.mtp_layers = 2;
         set_degrees(s, {.tp = 2, .pp = 2});
       }},
      {"mtp_zb_h1", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h1;
       }},
      {"mtp_full_recompute", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2});
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"mtp_chunked_loss", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2});
         s.plan.cross_entropy = CrossEntropyKind::chunked;
       }},
      {"mtp_fused_loss_fp16", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2});
         s.plan.cross_entropy = CrossEntropyKind::fused;
         s.plan.precision.compute = Dtype::fp16;
       }},
      {"mtp_layernorm_dropout", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2});
         s.model.norm = NormKind::layernorm;
         s.model.dropout = true;
       }},
      {"mtp_cp2_ring", toy_prediction, [](Scenario& s) { set_degrees(s, {.pp = 2, .cp = 2}); }},
      {"mtp_latent_experts_deepseek", toy_latent,  // DeepSeek-V3 in small
       [](Scenario& s) {
         megatron_core(s);
         s.model.mtp_layers = 1;
         deepseek_experts(s);
         set_degrees(s, {.pp = 2, .dp = 2, .ep = 2});
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         zero1_overlapped(s);
       }},
      {"mtp_dp2_fsdp2", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.preset = Preset::fsdp2;
       }},
      {"mtp_two_depths_tp2_dp2_fsdp2", toy_prediction,
       [](Scenario& s) {
         s.model.mtp_layers = 2;
         set_degrees(s, {.tp = 2, .dp = 2});
         s.plan.preset = Preset::fsdp2;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"mtp_dp4_hsdp2_no_reshard", toy_prediction,
       [](Scenario& s) {
         s.model.mtp_layers = 2;
         set_degrees(s, {.dp = 4});
         s.plan.preset = Preset::fsdp2;
         s.plan.sharding = {
             .kind = ShardingKind::hsdp, .shard_degree = 2, .reshard_after_forward = 0};
       }},
      {"mtp_dp2_fsdp1", toy_prediction,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.preset = Preset::fsdp1;
       }},
      {"mtp_tied_dp2_zero3", tied,
       [](Scenario& s) {
         set_degrees(s, {.dp = 2});
         s.plan.preset = Preset::deepspeed;
         s.plan.sharding = {.kind = ShardingKind::zero3, .overlap_param_gather = true};
       }},
      {"mtp_latent_experts_cp2_dp4_ep2_hsdp4", toy_latent,
       [](Scenario& s) {
         deepseek_experts(s);
         s.model.mtp_layers = 1;
         set_degrees(s, {.cp = 2, .dp = 4, .ep = 2});
         s.plan.cp_kind = CpKind::all_gather;
         s.plan.preset = Preset::fsdp2;
         s.plan.sharding = {.kind = ShardingKind::hsdp, .shard_degree = 4};
       }},
      {"mtp_tp2_pp2_fp8_delayed", toy_prediction,
       [](Scenario& s) {
         megatron_core(s);
         set_degrees(s, {.tp = 2, .pp = 2});
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::delayed};
       }},
      {"mtp_tp2_sp_fp8_blockwise", toy_prediction,
       [](Scenario& s) {
         megatron_core(s);
         set_degrees(s, {.tp = 2, .pp = 2});
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::blockwise};
       }},
  };
}

}  // namespace windtunnel::proof
