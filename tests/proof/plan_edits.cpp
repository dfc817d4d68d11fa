#include "tests/proof/plan_edits.h"

namespace windtunnel::proof {

void set_degrees(Scenario& s, const Degrees& d) {
  s.plan.tp = d.tp;
  s.plan.pp = d.pp;
  s.plan.cp = d.cp;
  s.plan.dp = d.dp;
  s.plan.ep = d.ep;
  s.plan.sequence_parallel = d.tp > 1;
}

void zero1_overlapped(Scenario& s) {
  s.plan.sharding = {.kind = ShardingKind::zero1,
                     .overlap_grad_reduce = true,
                     .overlap_param_gather = true,
                     .bucket = 1000};
}

void megatron_core(Scenario& s) {
  s.plan.preset = Preset::megatron;
  s.stack = {.framework = "megatron-core", .date = "2026-01"};
}

void deepseek_experts(Scenario& s) {
  s.model.moe = MoeShape{.experts = 8,
                         .top_k = 2,
                         .ffn = 12,
                         .shared_experts = 1,
                         .dense_layers = 1,
                         .router_bias = true};
}

}  // namespace windtunnel::proof
