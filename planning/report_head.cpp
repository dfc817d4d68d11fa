#include "planning/report_head.h"

#include "models/architectures/adapters.h"
#include "models/architectures/parameters.h"
#include "planning/plan_lines.h"
#include "report/bottleneck.h"

namespace windtunnel {

StepReport report_head(const Lowered& lowered) {
  const Scenario& s = lowered.resolved.scenario;
  StepReport report;
  report.id = s.id;
  report.name = s.name;
  report.parameters = count_parameters(s.model).total();
  if (s.model.position == PositionKind::learned && s.batch.sequence > s.model.max_positions) {
    report.parameters += (s.batch.sequence - s.model.max_positions) * s.model.hidden;
  }
  if (const auto& lora = lowered.resolved.plan.lora) {
    report.trained_parameters = adapter_parameters(s.model, *lora);
    report.parameters += *report.trained_parameters;
  }
  report.assumptions = lowered.resolved.assumptions;
  fill_plan_lines(report, lowered.resolved);
  return report;
}

void fill_step_time(StepReport& report, const Scenario& s, Seconds step_time) {
  report.step_time_s = step_time.value;
  const double tokens = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence);
  report.tokens_per_s = step_time.value > 0 ? tokens / step_time.value : 0.0;
  report.tokens_per_s_per_device = report.tokens_per_s / static_cast<double>(s.cluster.devices());
}

void fill_bottleneck(StepReport& report) {
  const Bottleneck found = find_bottleneck(report.breakdown);
  report.bottleneck = name_of(found.label);
  report.runner_up = name_of(found.runner_up);
  report.lever = found.lever;
}

}  // namespace windtunnel
