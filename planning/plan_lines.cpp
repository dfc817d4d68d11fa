#include "planning/plan_lines.h"

#include <fmt/format.h>

#include "plan/value_names.h"

namespace windtunnel {

namespace {

std::string schedule_text(const ResolvedPlan& p) {
  if (p.pp == 1) return "";
  std::string text = " " + value_name(p.schedule);
  if (p.virtual_stages > 1) text += fmt::format(" v{}", p.virtual_stages);
  return text + (p.overlap_pp ? ", transfers overlapped" : ", transfers blocking");
}

std::string plan_text(const ResolvedPlan& p) {
  std::string text =
      fmt::format("tp {}{}, pp {}{}, dp {}", p.tp,
                  p.sequence_parallel ? " + sequence parallel" : "", p.pp, schedule_text(p), p.dp);
  if (p.sharding != ShardingKind::none) text += ", " + value_name(p.sharding);
  if (p.recompute != RecomputeKind::none) {
    text += ", recompute " + (p.recompute == RecomputeKind::full ? std::string("full")
                                                                 : value_name(p.recompute_modules));
  }
  return text + fmt::format(", {} with {} grads, {} attention", value_name(p.compute),
                            value_name(p.grads),
                            p.attention == AttentionKind::flash ? value_name(p.attention_kernel)
                                                                : "unfused");
}

}  // namespace

void fill_plan_lines(StepReport& report, const ResolvedScenario& r) {
  const Scenario& s = r.scenario;
  const Model& m = s.model;
  report.model_line =
      fmt::format("{}: {} layers, hidden {}, ffn {}, {} heads ({} kv), vocabulary {} (padded {})",
                  m.name.empty() ? "model" : m.name, m.layers, m.hidden, m.ffn, m.heads, m.kv_heads,
                  m.vocab, r.plan.vocab_padded);
  report.cluster_line = fmt::format("{} x {} ({} a node)", s.cluster.devices(), s.cluster.device,
                                    s.cluster.devices_per_node);
  if (s.cluster.network) {
    report.cluster_line +=
        fmt::format(", {} NICs of {:g} Gbit/s a node", s.cluster.network->nics_per_node,
                    s.cluster.network->nic_bandwidth.value * 8e-9);
  }
  report.plan_line = fmt::format("{}; {} micro-batches of {} x {} tokens", plan_text(r.plan),
                                 r.plan.micro_batches, s.batch.micro, s.batch.sequence);
  report.stack_line = fmt::format("{} rules{}", r.rules.name,
                                  s.stack.framework.empty() ? "" : " (" + s.stack.framework + ")");
}

}  // namespace windtunnel
