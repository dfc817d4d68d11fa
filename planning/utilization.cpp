#include "planning/utilization.h"

#include "core/check.h"
#include "models/architectures/flops.h"
#include "models/cost/peak_rate.h"

namespace windtunnel {

namespace {

Recomputed recomputed_of(const ResolvedPlan& plan) {
  if (plan.recompute == RecomputeKind::full &&
      plan.recompute_layers.kind == RecomputeLayers::Kind::all)
    return Recomputed::layers;
  return plan.recomputes(RecomputeModule::core_attention) ? Recomputed::core_attention
                                                          : Recomputed::nothing;
}

}  // namespace

void fill_utilization(StepReport& report, const ResolvedScenario& resolved,
                      const Profile& profile) {
  const Scenario& s = resolved.scenario;
  if (report.step_time_s <= 0) return;
  const FlopConvention* convention = find_flop_convention("megatron");
  CHECK(convention != nullptr, "the convention is a row of the table");
  const FlopQuery query{.sequence = s.batch.sequence};
  const double tokens = static_cast<double>(s.batch.global * s.batch.sequence);
  const FlopsPerSecond peak{peak_rate(profile, resolved.plan.compute).value *
                            static_cast<double>(s.cluster.devices())};
  const Flops model_flops = convention->per_token(s.model, query) * tokens;
  const bool flash = resolved.plan.attention == AttentionKind::flash;
  const Flops executed =
      executed_flops_per_token(s.model, {.flops = query,
                                         .span = AttentionSpan::causal,
                                         .recomputed = recomputed_of(resolved.plan),
                                         .backward = flash ? AttentionBackward::flash
                                                           : AttentionBackward::stored_scores}) *
      tokens;
  report.flop_convention = "megatron (causal attention counted half)";
  report.mfu = flops_utilization(model_flops, {report.step_time_s}, peak);
  report.hfu = flops_utilization(executed, {report.step_time_s}, peak);
}

}  // namespace windtunnel
