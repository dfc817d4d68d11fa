#pragma once
// A run as a step report: what was measured in the words of a simulation.

#include <vector>

#include "planning/simulate.h"
#include "report/step_report.h"
#include "runtime/rank_outcome.h"

namespace windtunnel {

struct MeasuredRun {
  StepReport report;  // of the step of median time
  Trace trace;        // of the same step
};

/// `outcomes`: one per rank, in rank order, each with the same number of steps, at least one.
/// Throws ExecutionError when the ranks' traces do not fit together.
MeasuredRun measured_run(const Lowered& lowered, const std::vector<RankOutcome>& outcomes);

}  // namespace windtunnel
