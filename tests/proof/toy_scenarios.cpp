#include "tests/proof/toy_scenarios.h"

#include "core/check.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "tests/proof/combined_plans.h"
#include "tests/proof/context_expert_plans.h"
#include "tests/proof/context_plans.h"
#include "tests/proof/dense_plans.h"
#include "tests/proof/hybrid_expert_plans.h"
#include "tests/proof/latent_plans.h"
#include "tests/proof/lora_plans.h"
#include "tests/proof/moe_plans.h"
#include "tests/proof/narrow_expert_plans.h"
#include "tests/proof/offload_plans.h"
#include "tests/proof/parallel_block_plans.h"
#include "tests/proof/precision_plans.h"
#include "tests/proof/prediction_plans.h"
#include "tests/proof/schedule_plans.h"
#include "tests/proof/sharded_plans.h"
#include "tests/proof/tp_overlap_plans.h"

namespace windtunnel::proof {

namespace {

Scenario base_scenario() {
  Scenario s;
  s.id = s.name = "toy";
  s.model = {.name = "toy",
             .layers = 4,
             .hidden = 16,
             .ffn = 24,
             .heads = 4,
             .kv_heads = 4,
             .head_dim = 4,
             .vocab = 27};
  s.model.vocab_padded_to = 32;
  s.cluster.device = "h100";
  s.batch = {.global = 16, .micro = 1, .sequence = 8};
  return s;
}

}  // namespace

Scenario toy_gpt() {
  Scenario s = base_scenario();
  s.model.tied_embeddings = true;
  s.model.dropout = true;
  s.model.max_positions = 10;  // more rows than the sequence uses
  return s;
}

Scenario toy_llama() {
  Scenario s = base_scenario();
  s.model.kv_heads = 2;
  s.model.activation = Activation::swiglu;
  s.model.norm = NormKind::rmsnorm;
  s.model.position = PositionKind::rope;
  s.model.bias = false;
  return s;
}

Scenario toy_bloom() {
  Scenario s = toy_gpt();
  s.model.position = PositionKind::alibi;
  s.model.dropout = false;
  return s;
}

const std::vector<PlanCase>& plan_cases() {
  static const std::vector<PlanCase> kCases = [] {
    std::vector<PlanCase> cases = dense_plans();
    for (const PlanCase& row : sharded_plans()) cases.push_back(row);
    for (const PlanCase& row : context_plans()) cases.push_back(row);
    for (const PlanCase& row : tp_overlap_plans()) cases.push_back(row);
    for (const PlanCase& row : schedule_plans()) cases.push_back(row);
    for (const PlanCase& row : moe_plans()) cases.push_back(row);
    for (const PlanCase& row : context_expert_plans()) cases.push_back(row);
    for (const PlanCase& row : hybrid_expert_plans()) cases.push_back(row);
    for (const PlanCase& row : latent_plans()) cases.push_back(row);
    for (const PlanCase& row : prediction_plans()) cases.push_back(row);
    for (const PlanCase& row : combined_plans()) cases.push_back(row);
    for (const PlanCase& row : narrow_expert_plans()) cases.push_back(row);
    for (const PlanCase& row : offload_plans()) cases.push_back(row);
    for (const PlanCase& row : precision_plans()) cases.push_back(row);
    for (const PlanCase& row : lora_plans()) cases.push_back(row);
    for (const PlanCase& row : parallel_block_plans()) cases.push_back(row);
    return cases;
  }();
  return kCases;
}

const PlanCase& plan_case(const std::string& name) {
  for (const PlanCase& row : plan_cases()) {
    if (row.name == name) return row;
  }
  CHECK(false, "no plan is called " + name);
  return plan_cases().front();
}

Scenario scenario_of(const PlanCase& row) {
  Scenario s = row.base();
  row.change(s);
  s.cluster.nodes = 1;
  s.cluster.devices_per_node = s.plan.tp * s.plan.pp * s.plan.cp * s.plan.dp.value_or(1);
  if (s.cluster.nvlink_domain == 1) s.cluster.nvlink_domain = s.cluster.devices_per_node;
  return s;
}

Programs lower_both(const PlanCase& row) {
  const ResolvedScenario resolved = resolve(scenario_of(row));
  return {.plan = lower(resolved), .one_device = lower(one_device(resolved))};
}

}  // namespace windtunnel::proof
