#pragma once
// Reads step reports back from the JSON that `simulate --json` and a run write (docs/step_json.md).
//
// Keys it does not know are ignored, so a newer file reads too; the keys that a comparison stands
// on must be there and of their type. Bounds of every value are checked, so that sums and
// differences of what was read cannot overflow. Texts are short and hold no control characters:
// they are printed on terminals.

#include <string>
#include <vector>

#include "core/located_json.h"
#include "report/step_report.h"

namespace windtunnel {

/// Stages of a file; with the largest whole number, 2^52, their sum stays below 2^63.
constexpr int kMostReadStages = 1024;

struct StepFile {
  std::vector<StepReport> steps;     // ids differ
  std::vector<std::string> refused;  // ids of scenarios that have errors in their place
};

/// Throws InputError at the first thing wrong: not readable as JSON (core/located_json.h), no step,
/// a key that is missing or out of its bounds.
StepFile read_step_file(const std::string& path);

/// The same from a value; `path` names its file in errors.
StepFile read_steps(const LocatedJson& root, const std::string& path);

}  // namespace windtunnel
