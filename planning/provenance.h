#pragma once
// Where a step's time comes from: which costs were measured, modelled or assumed, and which
// uncertain one to calibrate next.

#include "models/cost/cost_model.h"
#include "planning/pricing.h"
#include "report/step_report.h"
#include "sim/engine/step_timing.h"

namespace windtunnel {

/// Fills `origins` (per class: share of the busy time by basis and source) and `calibrate_next`
/// (items by their part of the variance of the busy time, largest first).
void fill_provenance(StepReport& report, const Program& program, const PricedProgram& priced,
                     const CostModel& model);

}  // namespace windtunnel
