#include "tests/proof/combined_plans.h"

#include "tests/proof/latent_plans.h"
#include "tests/proof/moe_plans.h"
#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

// A list is as long as what it lists.
std::vector<PlanCase> sixteen_ranks() {  // NOLINT(readability-function-size)
  return {
      {"all16_tp2_pp2_dp4_ep2_zero1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 4, .ep = 2});
         s.model.moe->shared_experts = 1;
         zero1_overlapped(s);
       }},
      {"all16_tp2_cp2_dp4_fsdp2", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .cp = 2, .dp = 4});
         s.plan.preset = Preset::fsdp2;
       }},
      {"all16_tp2_pp2_dp4_ep2_dualpipe_v", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 4, .ep = 2});
         s.plan.schedule.kind = ScheduleKind::dualpipe_v;
         zero1_overlapped(s);
       }},
      {"all16_pp4_dp4_ep4_dualpipe_v_shared", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 4, .dp = 4, .ep = 4});
         s.model.layers = 8;
         s.model.moe->shared_experts = 1;
         s.plan.overlap.ep = true;
         s.batch.global = 32;
         s.plan.schedule.kind = ScheduleKind::dualpipe_v;
       }},
      {"all16_pp4_dp4_ep2_dualpipe_zero1", toy_moe,
       [](Scenario& s) {
         set_degrees(s, {.pp = 4, .dp = 4, .ep = 2});
         s.batch.global = 32;
         s.plan.schedule.kind = ScheduleKind::dualpipe;
         zero1_overlapped(s);
       }},
      {"all16_tp2_pp2_cp2_dp2_zb_v_zero1", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .cp = 2, .dp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_v;
         zero1_overlapped(s);
       }},
      {"all16_tp2_pp2_cp2_dp2_zb_h1_recompute", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .cp = 2, .dp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h1;
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"all16_tp2_pp2_dp4_ep4_deepseek", toy_latent,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 4, .ep = 4});
         megatron_core(s);
         s.plan.etp = 1;
         s.plan.overlap.tp = true;
         s.model.mtp_layers = 1;
         deepseek_experts(s);
         s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
         s.plan.recompute = {
             .kind = RecomputeKind::selective,
             .modules = {{RecomputeModule::mla_up_proj, RecomputeModule::moe_activation}}};
         zero1_overlapped(s);
       }},
  };
}

std::vector<PlanCase> schedules_and_shardings() {
  return {
      {"pp2_dp2_gpipe_zero1", toy_gpt,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         s.plan.schedule.kind = ScheduleKind::gpipe;
         zero1_overlapped(s);
       }},
      {"pp2_dp2_bfs_zero1", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         s.plan.schedule = {.kind = ScheduleKind::bfs, .virtual_stages = 2};
         zero1_overlapped(s);
       }},
      {"pp2_dp2_zb_h2_zero1", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h2;
         zero1_overlapped(s);
       }},
      {"pp2_dp2_zb_h2_fsdp", toy_llama,
       [](Scenario& s) {
         set_degrees(s, {.pp = 2, .dp = 2});
         s.plan.schedule.kind = ScheduleKind::zb_h2;
         s.plan.preset = Preset::fsdp2;
       }},
  };
}

}  // namespace

std::vector<PlanCase> combined_plans() {
  std::vector<PlanCase> plans = sixteen_ranks();
  for (const PlanCase& row : schedules_and_shardings()) plans.push_back(row);
  return plans;
}

}  // namespace windtunnel::proof
