#include "planning/validate_summary.h"

#include <algorithm>
#include <map>

namespace windtunnel {

namespace {

std::optional<double> fraction(int part, int whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / whole;
}

void count_oom(OomMatrix& matrix, const ValidationRow& row) {
  if (!row.measured || !row.predicted || assumes_memory(row.assumed)) return;
  const std::optional<bool> ran_out = measured_oom(*row.measured);
  if (!ran_out) return;
  if (*ran_out) {
    ++(row.predicted->oom ? matrix.true_positive : matrix.false_negative);
  } else {
    ++(row.predicted->oom ? matrix.false_positive : matrix.true_negative);
  }
}

std::optional<RankedRun> ranked_run(const ValidationRow& row) {
  if (row.group.empty() || !row.measured || !row.predicted) return std::nullopt;
  RankedRun run{.measured_s = measured_step_time(*row.measured),
                .predicted_s = row.predicted->step_time_s,
                .predicted_oom = row.predicted->oom,
                .spread = measured_spread(*row.measured)};
  if (run.measured_s) return run;
  if (measured_oom(*row.measured).value_or(false)) return run;
  return std::nullopt;  // says neither how long nor that it ran out
}

RankingSummary ranking_of(std::span<const ValidationRow* const> rows) {
  std::map<std::string, std::vector<RankedRun>> groups;
  for (const ValidationRow* row : rows) {
    if (const auto run = ranked_run(*row)) groups[row->group].push_back(*run);
  }
  std::vector<GroupRanking> rankings;
  for (const auto& [name, runs] : groups) rankings.push_back(rank_group(runs));
  return summarize_rankings(rankings);
}

}  // namespace

std::optional<double> OomMatrix::recall() const {
  return fraction(true_positive, true_positive + false_negative);
}
std::optional<double> OomMatrix::specificity() const {
  return fraction(true_negative, true_negative + false_positive);
}

ValidationSummary summarize(std::span<const ValidationRow* const> rows) {
  ValidationSummary summary;
  std::vector<double> step_time, memory, half_widths;
  int holds = 0, intervals = 0;
  for (const ValidationRow* row : rows) {
    ++summary.rows;
    if (!row->predicted) ++summary.refused;
    if (row->step_time_error) step_time.push_back(*row->step_time_error);
    if (row->memory_error) memory.push_back(*row->memory_error);
    count_oom(summary.oom, *row);
    if (!row->interval_holds) continue;
    ++intervals;
    if (*row->interval_holds) ++holds;
    const auto [low, high] = row->predicted->step_time_interval_s;
    half_widths.push_back((high - low) / 2.0 / row->predicted->step_time_s);
  }
  summary.step_time = error_statistics(step_time);
  summary.memory = error_statistics(memory);
  summary.ranking = ranking_of(rows);
  summary.interval_coverage = fraction(holds, intervals);
  summary.interval_half_width = quantile(half_widths, 0.5);
  return summary;
}

ValidationSummaries summarize(std::span<const ValidationRow> rows) {
  std::vector<const ValidationRow*> all;
  std::vector<std::pair<std::string, std::vector<const ValidationRow*>>> by_source;
  for (const ValidationRow& row : rows) {
    all.push_back(&row);
    auto found = std::find_if(by_source.begin(), by_source.end(),
                              [&](const auto& entry) { return entry.first == row.source; });
    if (found == by_source.end()) found = by_source.insert(found, {row.source, {}});
    found->second.push_back(&row);
  }
  ValidationSummaries summaries{.overall = summarize(all), .sources = {}};
  for (const auto& [name, of_source] : by_source) {
    summaries.sources.emplace_back(name, summarize(of_source));
  }
  return summaries;
}

}  // namespace windtunnel
