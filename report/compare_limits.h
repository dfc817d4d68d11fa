#pragma once
// Limits on how far B may be from A, and what exceeds them.
//
// A difference that is exactly at its limit is within it. What cannot be compared (memory that a
// side does not state, stages that differ in number) is over a limit that asks for it.

#include <optional>
#include <string>
#include <vector>

#include "report/compare.h"

namespace windtunnel {

struct CompareLimits {
  std::optional<double> step_error;  // of the step time, against A's
  /// Of each term of the breakdown, mean over stages: against A's own, or `term_floor` of A's step
  /// time, whichever is larger.
  std::optional<double> term_error;
  double term_floor = 0.03;
  bool exact_memory = false;   // peak allocated bytes of each stage, in total and by category
  bool exact_traffic = false;  // calls, elements and bytes of each stage, kind and communicator

  bool any() const { return step_error || term_error || exact_memory || exact_traffic; }
};

struct Violation {
  std::string limit;   // "--max-step-error 10 %"
  std::string detail;  // what is over it, and by how much
};

/// One entry for each limit that is exceeded.
std::vector<Violation> violations_of(const Comparison& comparison, const CompareLimits& limits);

/// For people, below a comparison: what is over, or that all is within; empty without limits.
std::string limits_lines(const std::vector<Violation>& violations, const CompareLimits& limits);

/// The limits as options, "--max-step-error 10 %, --exact-memory"; empty without any.
std::string limits_text(const CompareLimits& limits);

}  // namespace windtunnel
