#include "planning/plan_lines.h"

#include <fmt/format.h>

#include <utility>

#include "models/architectures/attention_window.h"
#include "plan/value_names.h"

namespace windtunnel {

namespace {

std::string schedule_text(const ResolvedPlan& p) {
  if (p.pp == 1) return "";
  std::string text = " " + value_name(p.schedule);
  if (p.virtual_stages > 1) text += fmt::format(" v{}", p.virtual_stages);
  return text + (p.overlap_pp ? ", transfers overlapped" : ", transfers blocking");
}

std::string tp_text(const ResolvedPlan& p) {
  std::string text = fmt::format("tp {}", p.tp);
  if (p.sequence_parallel) text += " + sequence parallel";
  return text + (p.overlap_tp ? ", products beside its transfers" : "");
}

/// Fractions of what lies on the host.
std::string offload_text(const ResolvedPlan& p) {
  std::string text;
  for (const auto& [part, name] :
       {std::pair{p.offload_optimizer, "optimizer"}, std::pair{p.offload_params, "params"},
        std::pair{p.offload_activations, "activations"}}) {
    if (part <= 0.0) continue;
    text += (text.empty() ? ", on the host " : " and ") + std::string(name);
    if (part < 1.0) text += fmt::format(" ({:g})", part);
  }
  return text;
}

std::string plan_text(const ResolvedPlan& p) {
  std::string text = fmt::format("{}, pp {}{}, ", tp_text(p), p.pp, schedule_text(p));
  if (p.cp > 1) text += fmt::format("cp {} {}, ", p.cp, value_name(p.cp_kind));
  text += fmt::format("dp {}", p.dp);
  if (p.ep > 1) text += fmt::format(", ep {}", p.ep);
  if (p.etp > 1) text += fmt::format(", etp {}", p.etp);
  if (p.sharding != ShardingKind::none) text += ", " + value_name(p.sharding);
  if (p.recompute != RecomputeKind::none) {
    text += ", recompute " + (p.recompute == RecomputeKind::full ? std::string("full")
                                                                 : value_name(p.recompute_modules));
  }
  text += offload_text(p);
  if (p.lora) {
    const bool both = p.lora->attention && p.lora->mlp;
    text += fmt::format(", lora {} on {}", p.lora->rank,
                        both                ? "attention and mlp"
                        : p.lora->attention ? "attention"
                                            : "mlp");
  }
  return text + fmt::format(", {} with {} grads, {} attention", value_name(p.compute),
                            value_name(p.grads),
                            p.attention == AttentionKind::flash ? value_name(p.attention_kernel)
                                                                : "unfused");
}

/// How many layers have the window, where some have not.
std::string windowed_layers(const Model& m) {
  if (m.layer_pattern.empty()) return "";
  std::int64_t local = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) local += has_window(m, layer) ? 1 : 0;
  return fmt::format(" on {} layers", local);
}

std::string model_text(const Model& m, const ResolvedPlan& p) {
  std::string text = fmt::format("{}: {} layers, hidden {}, ", m.name.empty() ? "model" : m.name,
                                 m.layers, m.hidden);
  if (!m.moe || m.moe->dense_layers > 0 || m.moe->every > 1) text += fmt::format("ffn {}, ", m.ffn);
  if (m.moe)
    text += fmt::format("{} experts of {}, {} a token, ", m.moe->experts, m.moe->ffn, m.moe->top_k);
  text += m.mla ? fmt::format("{} heads (latent {}), ", m.heads, m.mla->kv_lora_rank)
                : fmt::format("{} heads ({} kv), ", m.heads, m.kv_heads);
  if (m.sliding_window) text += fmt::format("window {}{}, ", *m.sliding_window, windowed_layers(m));
  if (m.mtp_layers > 0) text += fmt::format("{} more predicted, ", m.mtp_layers);
  return text + fmt::format("vocabulary {} (padded {})", m.vocab, p.vocab_padded);
}

}  // namespace

void fill_plan_lines(StepReport& report, const ResolvedScenario& r) {
  const Scenario& s = r.scenario;
  report.model_line = model_text(s.model, r.plan);
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
