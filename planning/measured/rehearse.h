#pragma once
// A rehearsal: the machine is calibrated for a scenario, the scenario simulated and executed, and
// the two held against each other.
//
// A machine that others use too changes its speed. Calibration and steps therefore take turns, in
// rounds of a slice of each, and the prediction states its prices at the speed the machine had
// between the steps, by the same anchors that stand beside every sample.

#include <functional>
#include <string>

#include "models/cost/calibration.h"
#include "planning/measured/measured_step.h"
#include "planning/measured/run_program.h"
#include "planning/simulate.h"

namespace windtunnel {

struct RehearsalRequest {
  RunRequest run;          // `steps` is the sum over the rounds, `warm_up` of every round
  double budget_s = 30.0;  // of calibration, all rounds together
  int rounds = 2;
  bool trace = false;  // keep the prediction's
  std::function<void(const std::string& what)> progress = [](const std::string&) {};
};

struct Rehearsal {
  Simulation predicted;
  MeasuredRun measured;
  AnchorRates calibrating;  // medians of the anchors beside the samples
  AnchorRates stepping;     // medians of those between the steps, over all ranks
  Calibration calibration;  // that the prediction rests on
};

/// Throws InputError, RunFailed, RunImpossible, ExecutionError.
Rehearsal rehearse(const Scenario& scenario, const RehearsalRequest& request);

/// "9, their mean 1.02 and the longest 1.32 times the median"; more where the machine was busy.
std::string steps_text(const Rehearsal& rehearsal);
/// What the prices rest on.
std::string prices_text(const Rehearsal& rehearsal);

/// What the machine's speed did, in a sentence: "copying 3.1 % slower, ...".
std::string drift_text(const Rehearsal& rehearsal);

}  // namespace windtunnel
