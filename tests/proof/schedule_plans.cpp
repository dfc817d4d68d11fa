#include "tests/proof/schedule_plans.h"

#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

struct Pipeline {
  ScheduleKind kind;
  int pp = 2, tp = 1, dp = 1;
  int layers = 4;
};

/// A Llama of `layers` layers, untied: weights may be sharded too.
void pipeline(Scenario& s, const Pipeline& p) {
  s.plan.tp = p.tp;
  s.plan.pp = p.pp;
  s.plan.dp = p.dp;
  s.plan.sequence_parallel = p.tp > 1;
  s.plan.schedule.kind = p.kind;
  s.model.layers = p.layers;
}

void fsdp(Scenario& s) {
  s.plan.preset = Preset::fsdp2;
  s.plan.sharding.kind = ShardingKind::fsdp;
}

}  // namespace

std::vector<PlanCase> schedule_plans() {
  using K = ScheduleKind;
  return {
      {"pp2_bfs", toy_gpt,
       [](Scenario& s) {
         pipeline(s, {.kind = K::bfs});
         s.plan.schedule.virtual_stages = 2;
       }},
      {"pp2_zb_h1", toy_gpt, [](Scenario& s) { pipeline(s, {.kind = K::zb_h1}); }},
      {"pp4_zb_h1", toy_llama, [](Scenario& s) { pipeline(s, {.kind = K::zb_h1, .pp = 4}); }},
      {"pp2_zb_h1_two_chunks", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_h1});
         s.plan.schedule.virtual_stages = 2;
       }},
      {"pp4_zb_h2", toy_llama, [](Scenario& s) { pipeline(s, {.kind = K::zb_h2, .pp = 4}); }},
      {"pp2_zb_v", toy_llama, [](Scenario& s) { pipeline(s, {.kind = K::zb_v}); }},
      {"pp4_zb_v_gpt", toy_gpt,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_v, .pp = 4, .layers = 8});
         s.model.tied_embeddings = false;
       }},
      {"pp2_dualpipe_v", toy_llama, [](Scenario& s) { pipeline(s, {.kind = K::dualpipe_v}); }},
      {"pp4_dualpipe_v", toy_llama,
       [](Scenario& s) { pipeline(s, {.kind = K::dualpipe_v, .pp = 4, .layers = 8}); }},
      {"pp2_dualpipe", toy_llama, [](Scenario& s) { pipeline(s, {.kind = K::dualpipe}); }},
      {"pp4_dualpipe_gpt", toy_gpt,
       [](Scenario& s) {
         pipeline(s, {.kind = K::dualpipe, .pp = 4, .layers = 6});
         s.model.tied_embeddings = false;
       }},
      {"pp2_dp2_dualpipe_overlap", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::dualpipe, .dp = 2});
         s.plan.sharding.overlap_grad_reduce = true;
       }},
      {"tp2_pp2_dp2_dualpipe_zero1", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::dualpipe, .tp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"pp2_dp2_dualpipe_fsdp", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::dualpipe, .dp = 2});
         fsdp(s);
       }},
      {"tp2_pp2_dp2_zb_h1_zero1", toy_gpt,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_h1, .tp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"tp2_pp2_dp2_zb_v_zero1", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_v, .tp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"tp2_pp2_dp2_dualpipe_v_zero1", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::dualpipe_v, .tp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"pp2_dp2_bfs_fsdp", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::bfs, .dp = 2});
         s.plan.schedule.virtual_stages = 2;
         fsdp(s);
       }},
      {"pp2_dp2_zb_h1_fsdp", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_h1, .dp = 2});
         fsdp(s);
       }},
      {"pp2_dp2_zb_v_fsdp", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_v, .dp = 2});
         fsdp(s);
       }},
      {"pp2_dp2_dualpipe_v_fsdp_reshard", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::dualpipe_v, .dp = 2});
         fsdp(s);
         s.plan.sharding.reshard_after_forward = 1;
       }},
      {"tp2_pp4_dp2_zb_h2_recompute", toy_llama,
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_h2, .pp = 4, .tp = 2, .dp = 2});
         zero1_overlapped(s);
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"pp2_zb_h1_fp16_gradients", toy_gpt,  // half-precision gradients added to the buffer
       [](Scenario& s) {
         pipeline(s, {.kind = K::zb_h1});
         s.stack = {.framework = "megatron-lm", .date = "2021-06"};
         s.plan.preset = Preset::megatron;
       }},
  };
}

}  // namespace windtunnel::proof
