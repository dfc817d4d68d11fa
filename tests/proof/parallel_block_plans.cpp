#include "tests/proof/parallel_block_plans.h"

#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

namespace {

/// GPT-J's kind: LayerNorm, biases, dropout.
Scenario parallel_gpt() {
  Scenario s = toy_gpt();
  s.model.parallel_block = true;
  return s;
}

/// PaLM's kind: gated, no biases.
Scenario parallel_llama() {
  Scenario s = toy_llama();
  s.model.parallel_block = true;
  return s;
}

void recompute(Scenario& s, std::vector<RecomputeModule> modules) {
  s.plan.recompute = {.kind = RecomputeKind::selective, .modules = std::move(modules)};
}

}  // namespace

std::vector<PlanCase> parallel_block_plans() {
  using R = RecomputeModule;
  return {
      {"parallel_block", parallel_gpt, [](Scenario&) {}},
      {"parallel_block_tp2", parallel_gpt, [](Scenario& s) { s.plan.tp = 2; }},
      {"parallel_block_tp2_sp_pp2_dp2", parallel_llama,
       [](Scenario& s) {
         megatron_core(s);
         set_degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         zero1_overlapped(s);
       }},
      {"parallel_block_recompute", parallel_gpt,
       [](Scenario& s) { s.plan.recompute.kind = RecomputeKind::full; }},
      {"parallel_block_recomputes_norm", parallel_llama,
       [](Scenario& s) {
         set_degrees(s, {.tp = 2});
         recompute(s, {R::norm, R::activation});
       }},
      {"parallel_block_recomputes_all_modules", parallel_gpt,
       [](Scenario& s) {
         recompute(s, {R::norm, R::attention, R::mlp});
       }},
      {"parallel_block_pp2_zb_h1", parallel_llama,
       [](Scenario& s) {
         s.plan.pp = 2;
         s.plan.schedule.kind = ScheduleKind::zb_h1;
       }},
      {"parallel_block_dp2_fsdp2", parallel_llama,
       [](Scenario& s) {
         s.plan.preset = Preset::fsdp2;
         s.plan.dp = 2;
       }},
      {"parallel_block_experts", parallel_llama,
       [](Scenario& s) {
         deepseek_experts(s);
         s.plan.dp = 2;
       }},
      {"parallel_block_lora_mlp", parallel_llama,
       [](Scenario& s) {
         s.plan.tp = 2;
         s.plan.lora = Lora{.rank = 4, .alpha = 3, .modules = {{LoraModule::mlp}}};
       }},
      {"parallel_block_lora_pp2", parallel_gpt,
       [](Scenario& s) {
         s.plan.pp = 2;
         s.plan.lora = Lora{.rank = 4, .alpha = 3};
       }},
  };
}

}  // namespace windtunnel::proof
