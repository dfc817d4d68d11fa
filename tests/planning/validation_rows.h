#pragma once
// Rows of `validate` for tests of its scores and summaries.

#include "planning/validate_row.h"

namespace windtunnel {

/// A row with a measured and a predicted step time, and an interval of +- 10 % around the latter.
inline ValidationRow timed_row(double measured_s, double predicted_s) {
  ValidationRow row{.id = "r", .source = "s", .group = "", .assumed = {}, .refused = ""};
  row.measured = Measured{.step_time = Seconds{measured_s}, .source = ""};
  row.predicted = Prediction{.step_time_s = predicted_s,
                             .step_time_interval_s = {0.9 * predicted_s, 1.1 * predicted_s}};
  score(row);
  return row;
}

/// A row that ran out of memory, or that did not, and says nothing else.
inline ValidationRow oom_row(bool measured, bool predicted) {
  ValidationRow row{.id = "r", .source = "s", .group = "", .assumed = {}, .refused = ""};
  row.measured = Measured{.oom = measured, .source = ""};
  row.predicted = Prediction{.step_time_s = 1.0, .oom = predicted};
  return row;
}

}  // namespace windtunnel
