#pragma once
// From the engine's time tables to the report's breakdowns.

#include <vector>

#include "program/program.h"
#include "report/step_report.h"
#include "sim/engine/step_timing.h"

namespace windtunnel {

/// One breakdown per pipeline stage, of the nominal draw: the mean over the stage's ranks.
std::vector<Breakdown> stage_breakdowns(const Program& program, const StepTiming& timing);

/// Field by field mean. Precondition: not empty.
Breakdown mean_breakdown(const std::vector<Breakdown>& stages);

}  // namespace windtunnel
