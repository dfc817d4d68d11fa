#include "planning/utilization.h"

#include "core/check.h"
#include "models/architectures/flops.h"
#include "models/cost/peak_rate.h"
#include "models/cost/shape_work.h"

namespace windtunnel {

Flops executed_flops(const Program& program) {
  std::vector<double> of_segment;
  for (const Segment& segment : program.segments) {
    double sum = 0.0;
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program.ops[i];
      if (op.kind == OpKind::compute) sum += shape_work(program.shapes[op.shape]).flops;
    }
    of_segment.push_back(sum);
  }
  double sum = 0.0;
  for (const Role& role : program.roles) {
    for (const Call& call : role.calls) sum += of_segment[call.segment];
  }
  const double ranks_of_role =
      static_cast<double>(program.mesh.ranks()) / static_cast<double>(program.roles.size());
  return {sum * ranks_of_role};
}

void fill_utilization(StepReport& report, const ResolvedScenario& resolved, const Program& program,
                      const Profile& profile) {
  const Scenario& s = resolved.scenario;
  if (report.step_time_s <= 0 || !has_peak_rate(profile, resolved.plan.compute)) return;
  const FlopConvention* convention = find_flop_convention("megatron");
  CHECK(convention != nullptr, "the convention is a row of the table");
  const FlopQuery query{.sequence = s.batch.sequence};
  const double tokens = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence);
  const FlopsPerSecond peak{peak_rate(profile, resolved.plan.compute).value *
                            static_cast<double>(s.cluster.devices())};
  const auto& lora = resolved.plan.lora;
  const Flops of_token =
      lora ? lora_flops_per_token(s.model, *lora, query) : convention->per_token(s.model, query);
  const Flops model_flops = of_token * tokens;
  report.flop_convention = lora ? "lora (no weight gradients of what is frozen)"
                                : "megatron (causal attention counted half)";
  report.mfu = flops_utilization(model_flops, {report.step_time_s}, peak);
  report.hfu = flops_utilization(executed_flops(program), {report.step_time_s}, peak);
}

}  // namespace windtunnel
