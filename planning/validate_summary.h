#pragma once
// Summaries of validated rows: of one source, of all.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planning/validate_errors.h"
#include "planning/validate_ranking.h"
#include "planning/validate_row.h"

namespace windtunnel {

/// Positive: it ran out of memory. Rows that say nothing of it, and rows that assume what decides
/// their memory, are in none of the cells.
struct OomMatrix {
  int true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;

  std::optional<double> recall() const;       // of the runs that ran out, those predicted to
  std::optional<double> specificity() const;  // of the runs that did not, those predicted not to
};

struct ValidationSummary {
  int rows = 0, refused = 0;
  ErrorStatistics step_time, memory;
  OomMatrix oom;
  RankingSummary ranking;  // among these rows, by group
  std::optional<double> interval_coverage;
  std::optional<double> interval_half_width;  // median of (high - low) / 2 / predicted
};

ValidationSummary summarize(std::span<const ValidationRow* const> rows);

/// Over everything, and by source in order of first appearance.
struct ValidationSummaries {
  ValidationSummary overall;
  std::vector<std::pair<std::string, ValidationSummary>> sources;
};

ValidationSummaries summarize(std::span<const ValidationRow> rows);

}  // namespace windtunnel
