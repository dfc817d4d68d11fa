#pragma once
// The parts of a step report that a simulation and a run fill in the same way.

#include "core/units.h"
#include "planning/simulate.h"
#include "report/step_report.h"
#include "scenarios/scenario.h"

namespace windtunnel {

/// Identity, plan in words, parameters, assumptions.
StepReport report_head(const Lowered& lowered);

/// The step time and the rates that follow from it.
void fill_step_time(StepReport& report, const Scenario& scenario, Seconds step_time);

/// What bounds the step, from its breakdown.
void fill_bottleneck(StepReport& report);

}  // namespace windtunnel
