#include "tests/proof/latent_plans.h"

#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

using M = RecomputeModule;

void over(Scenario& s, CpKind kind, const Degrees& d) {
  set_degrees(s, d);
  s.plan.cp_kind = kind;
}

void selective(Scenario& s, std::vector<M> modules) {
  s.plan.recompute = {.kind = RecomputeKind::selective, .modules = std::move(modules)};
}

}  // namespace

Scenario toy_latent() {
  Scenario s = toy_llama();
  s.model.kv_heads = s.model.heads;
  s.model.head_dim = 6;
  s.model.mla = MlaShape{.q_lora_rank = 6,
                         .kv_lora_rank = 8,
                         .qk_nope_head_dim = 4,
                         .qk_rope_head_dim = 2,
                         .v_head_dim = 3};
  return s;
}

Scenario toy_head_norms() {
  Scenario s = toy_llama();
  s.model.qk_norm = true;
  return s;
}

// A list is as long as what it lists.
std::vector<PlanCase> latent_plans() {  // NOLINT(readability-function-size)
  return {
      {"head_norms_micro2", toy_head_norms, [](Scenario& s) { s.batch.micro = 2; }},
      {"head_norms_tp2", toy_head_norms, [](Scenario& s) { s.plan.tp = 2; }},
      {"head_norms_tp2_sp_pp2_dp2_zero1", toy_head_norms,
       [](Scenario& s) {
         s.plan.tp = s.plan.pp = 2;
         s.plan.dp = 2;
         s.plan.sequence_parallel = true;
         s.plan.sharding.kind = ShardingKind::zero1;
       }},
      {"head_norms_tp2_fsdp2", toy_head_norms,
       [](Scenario& s) {
         s.plan.tp = s.plan.cp = 2;
         s.plan.dp = 2;
         s.plan.sequence_parallel = true;
         s.plan.preset = Preset::fsdp2;
       }},
      {"head_norms_zb_h1_recompute", toy_head_norms,
       [](Scenario& s) {
         s.plan.tp = s.plan.pp = 2;
         s.plan.schedule.kind = ScheduleKind::zb_h1;
         selective(s, {M::attention});
       }},
      {"head_norms_full_recompute", toy_head_norms,
       [](Scenario& s) {
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"qkv_bias_tp2_sp", toy_llama,  // Qwen2
       [](Scenario& s) {
         s.model.qkv_bias = true;
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
       }},
      {"latent_micro2", toy_latent, [](Scenario& s) { s.batch.micro = 2; }},
      {"latent_tp2", toy_latent, [](Scenario& s) { s.plan.tp = 2; }},
      {"latent_tp4_sp", toy_latent,
       [](Scenario& s) {
         s.plan.tp = 4;
         s.plan.sequence_parallel = true;
       }},
      {"latent_direct_query_tp2_sp", toy_latent,
       [](Scenario& s) {
         s.model.mla->q_lora_rank = 0;
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
       }},
      {"latent_direct_query_recompute_norm", toy_latent,
       [](Scenario& s) {
         s.model.mla->q_lora_rank = 0;
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         selective(s, {M::norm});
       }},
      {"latent_layernorm_direct_query_tp2", toy_latent,
       [](Scenario& s) {
         s.model.mla->q_lora_rank = 0;
         s.model.norm = NormKind::layernorm;
         s.plan.tp = 2;
       }},
      {"latent_tp2_sp_pp2_dp2_zero1", toy_latent,
       [](Scenario& s) {
         s.plan.tp = s.plan.pp = 2;
         s.plan.dp = 2;
         s.plan.sequence_parallel = true;
         s.plan.sharding = {.kind = ShardingKind::zero1,
                            .overlap_grad_reduce = true,
                            .overlap_param_gather = true,
                            .bucket = 900};
       }},
      {"latent_tp2_sp_recompute_up", toy_latent,
       [](Scenario& s) {
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         selective(s, {M::mla_up_proj});
       }},
      {"latent_direct_query_tp2_sp_recompute_up", toy_latent,
       [](Scenario& s) {
         s.model.mla->q_lora_rank = 0;
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         selective(s, {M::mla_up_proj});
       }},
      {"latent_layernorm_experts_fsdp2", toy_latent,  // most parameters in one unit
       [](Scenario& s) {
         deepseek_experts(s);
         s.model.norm = NormKind::layernorm;
         s.plan.dp = 2;
         s.plan.preset = Preset::fsdp2;
       }},
      {"latent_recompute_up_core_norm", toy_latent,
       [](Scenario& s) {
         s.plan.tp = 2;
         selective(s, {M::mla_up_proj, M::core_attention, M::norm});
       }},
      {"latent_recompute_attention", toy_latent,
       [](Scenario& s) {
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         selective(s, {M::attention, M::norm});
       }},
      {"latent_full_recompute", toy_latent,
       [](Scenario& s) {
         s.plan.tp = 2;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"latent_zb_h1", toy_latent,
       [](Scenario& s) {
         s.plan.pp = 2;
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.schedule.kind = ScheduleKind::zb_h1;
       }},
      {"latent_fsdp2_tp2", toy_latent,
       [](Scenario& s) {
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.dp = 2;
         s.plan.preset = Preset::fsdp2;
       }},
      {"latent_experts_pp2_dp2_ep2", toy_latent,
       [](Scenario& s) {
         deepseek_experts(s);
         s.plan.pp = 2;
         s.plan.dp = 2;
         s.plan.ep = 2;
         s.plan.sharding.kind = ShardingKind::zero1;
       }},
      {"latent_experts_tp2_dp2_ep4_megatron", toy_latent,
       [](Scenario& s) {
         deepseek_experts(s);
         megatron_core(s);
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.dp = 2;
         s.plan.ep = 4;
         s.plan.etp = 1;
         selective(s, {M::mla_up_proj, M::moe_activation});
       }},
      {"latent_cp2_ring", toy_latent, [](Scenario& s) { over(s, CpKind::ring, {.cp = 2}); }},
      {"latent_cp4_ring_overlap", toy_latent,
       [](Scenario& s) {
         over(s, CpKind::ring, {.cp = 4});
         megatron_core(s);
         s.batch.micro = 2;
         zero1_overlapped(s);
       }},
      {"latent_cp2_gather", toy_latent,
       [](Scenario& s) { over(s, CpKind::all_gather, {.cp = 2}); }},
      {"latent_tp2_cp2_ulysses", toy_latent,
       [](Scenario& s) {
         over(s, CpKind::ulysses, {.tp = 2, .cp = 2});
         s.batch.micro = 2;
       }},
      {"latent_cp4_ulysses_ring", toy_latent,
       [](Scenario& s) {
         over(s, CpKind::ulysses_ring, {.cp = 4});
         s.cluster.nvlink_domain = 2;
       }},
      {"latent_tp2_cp2_direct_query_gather", toy_latent,
       [](Scenario& s) {
         s.model.mla->q_lora_rank = 0;
         over(s, CpKind::all_gather, {.tp = 2, .cp = 2});
       }},
      {"latent_tp2_cp2_dp2_ring_fsdp2", toy_latent,
       [](Scenario& s) {
         over(s, CpKind::ring, {.tp = 2, .cp = 2, .dp = 2});
         s.plan.preset = Preset::fsdp2;
       }},
      {"latent_tp2_cp2_recompute_up", toy_latent,
       [](Scenario& s) {
         over(s, CpKind::ring, {.tp = 2, .cp = 2});
         selective(s, {M::mla_up_proj, M::core_attention});
       }},
      {"latent_cp2_ulysses_full_recompute", toy_latent,
       [](Scenario& s) {
         over(s, CpKind::ulysses, {.cp = 2});
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"latent_experts_tp2_pp2_cp2_dp2_ep4_megatron", toy_latent,
       [](Scenario& s) {
         deepseek_experts(s);
         megatron_core(s);
         over(s, CpKind::ring, {.tp = 2, .pp = 2, .cp = 2, .dp = 2, .ep = 4});
         s.plan.etp = 1;
         zero1_overlapped(s);
       }},
      {"latent_experts_pp2_cp2_ep2_dualpipe_v", toy_latent,
       [](Scenario& s) {
         deepseek_experts(s);
         over(s, CpKind::all_gather, {.pp = 2, .cp = 2, .ep = 2});
         s.plan.schedule.kind = ScheduleKind::dualpipe_v;
       }},
      {"latent_tp2_sp_fp8_blockwise", toy_latent,
       [](Scenario& s) {
         megatron_core(s);
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::blockwise};
       }},
      {"latent_tp2_fp8_delayed", toy_latent,
       [](Scenario& s) {
         megatron_core(s);
         s.plan.tp = 2;
         s.plan.dp = 2;
         s.plan.precision = {.compute = Dtype::fp8, .fp8_recipe = ScalingRecipe::delayed};
         selective(s, {M::mla_up_proj});
       }},
      {"latent_tp2_sp_mxfp8", toy_latent,
       [](Scenario& s) {
         megatron_core(s);
         s.cluster.device = "b200-sxm-180gb";
         s.plan.tp = 2;
         s.plan.sequence_parallel = true;
         s.plan.precision.compute = Dtype::mxfp8;
       }},
  };
}

}  // namespace windtunnel::proof
