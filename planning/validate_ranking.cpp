#include "planning/validate_ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "planning/validate_errors.h"

namespace windtunnel {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double measured_time(const RankedRun& run) {
  return run.measured_s.value_or(kInfinity);
}

double predicted_time(const RankedRun& run) {
  return run.predicted_oom ? kInfinity : run.predicted_s;
}

/// -1, 0, 1: is a measured to be faster than, tied with, slower than b?
int measured_order(const RankedRun& a, const RankedRun& b) {
  const double x = measured_time(a), y = measured_time(b);
  if (x == y) return 0;  // two that ran out of memory among them
  const double difference = std::max(x, y) / std::min(x, y) - 1.0;
  if (difference < std::max(a.spread, b.spread)) return 0;
  return x < y ? -1 : 1;
}

int predicted_order(const RankedRun& a, const RankedRun& b) {
  const double x = predicted_time(a), y = predicted_time(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

std::optional<double> kendall_tau(std::span<const RankedRun> runs) {
  int pairs = 0, sum = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const int measured = measured_order(runs[i], runs[j]);
      if (measured == 0) continue;
      ++pairs;
      sum += measured * predicted_order(runs[i], runs[j]);
    }
  }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(sum) / pairs;
}

std::optional<double> regret(std::span<const RankedRun> runs) {
  double best = kInfinity;
  for (const RankedRun& run : runs) best = std::min(best, measured_time(run));
  if (std::isinf(best)) return std::nullopt;
  const auto choice =
      std::min_element(runs.begin(), runs.end(), [](const RankedRun& a, const RankedRun& b) {
        return std::tie(a.predicted_oom, a.predicted_s) < std::tie(b.predicted_oom, b.predicted_s);
      });
  return measured_time(*choice) / best - 1.0;
}

}  // namespace

GroupRanking rank_group(std::span<const RankedRun> runs) {
  if (runs.size() < 2) return {};
  return {.kendall_tau = kendall_tau(runs), .regret = regret(runs)};
}

RankingSummary summarize_rankings(std::span<const GroupRanking> groups) {
  std::vector<double> taus, finite;
  RankingSummary summary;
  for (const GroupRanking& group : groups) {
    if (!group.regret) continue;
    ++summary.groups;
    if (group.kendall_tau) taus.push_back(*group.kendall_tau);
    if (std::isinf(*group.regret)) {
      ++summary.oom_choices;
    } else {
      finite.push_back(*group.regret);
    }
  }
  summary.kendall_tau = mean(taus);
  summary.finite_regret = mean(finite);
  summary.regret = summary.oom_choices > 0 ? kInfinity : summary.finite_regret;
  return summary;
}

}  // namespace windtunnel
