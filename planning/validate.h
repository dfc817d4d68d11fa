#pragma once
// Predicted against measured, over files, sets and folders.
//
// Every scenario found is predicted and becomes one row, in the order of the paths, the files of a
// folder by name, the scenarios of a file as written. What cannot be loaded or lowered is a row
// too, with the reason. Rows are predicted by several threads; the result does not depend on how
// many.

#include <functional>
#include <string>
#include <vector>

#include "planning/validate_row.h"
#include "planning/validate_summary.h"

namespace windtunnel {

struct Validation {
  std::vector<ValidationRow> rows;
  ValidationSummaries summaries;
  std::vector<std::string> load_errors;  // files that are no scenarios, as a user reads them
  bool internal_error = false;           // a row's reason is a bug of ours
};

/// Rows done so far and rows in all; called by one thread at a time.
using ValidationProgress = std::function<void(std::size_t done, std::size_t total)>;

struct ValidateOptions {
  int threads = 2;
  std::function<Prediction(const Scenario&)> predict;  // called by several threads
  ValidationProgress progress;                         // may be empty
};

/// The simulation's answer, with its interval.
Prediction predict(const Scenario& scenario);

/// Threads for this machine: as many as it has, up to four, since each may hold the program of a
/// large run.
int validation_threads();

/// Throws InputError when a path does not exist.
Validation validate(const std::vector<std::string>& paths, const ValidateOptions& options);

}  // namespace windtunnel
