#pragma once
// A step report as JSON, with the keys of docs/step_json.md. Numbers are in their SI base (seconds,
// bytes), shortest form that reads back the same.

#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "report/step_report.h"

namespace windtunnel {

/// "simulation", "run": the word of the JSON.
const char* name_of(StepKind kind);

/// What `simulate --json` prints for one scenario, and a run for what it measured.
std::string step_json(const StepReport& report);

/// What `check --json` prints: {id, memory, errors}; memory is null when there are errors.
struct CheckAnswer {
  StepReport report;  // `id`, and the memory when there are no errors
  std::vector<Diagnostic> errors;
};
std::string check_json(const CheckAnswer& answer);

}  // namespace windtunnel
