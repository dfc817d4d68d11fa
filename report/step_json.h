#pragma once
// A step report as JSON, with the keys of docs/scenario_format.md. Numbers are in their SI base
// (seconds, bytes), shortest form that reads back the same.

#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "report/step_report.h"

namespace windtunnel {

/// What `simulate --json` prints for one scenario.
std::string simulate_json(const StepReport& report);

/// What `check --json` prints: {id, memory, errors}; memory is null when there are errors.
struct CheckAnswer {
  StepReport report;  // `id`, and the memory when there are no errors
  std::vector<Diagnostic> errors;
};
std::string check_json(const CheckAnswer& answer);

}  // namespace windtunnel
