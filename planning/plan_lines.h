#pragma once
// The head of a report: model, cluster, plan and stack in one line each.

#include "plan/resolved.h"
#include "report/step_report.h"

namespace windtunnel {

void fill_plan_lines(StepReport& report, const ResolvedScenario& resolved);

}  // namespace windtunnel
