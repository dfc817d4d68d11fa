#include "planning/breakdown.h"

#include <map>
#include <string>

#include "core/check.h"
#include "planning/breakdown_rows.h"
#include "report/breakdown_terms.h"

namespace windtunnel {

namespace {

/// Mean over the ranks of a role, nominal draw.
double mean_seconds(const StepTiming& timing, int role, std::size_t category) {
  std::int64_t ranks = 0;
  for (int lane = 0; lane < timing.grid.lanes(); lane += timing.grid.draws) {
    ranks += timing.grid.ranks_of(lane);
  }
  double seconds = 0.0;
  for (int lane = 0; lane < timing.grid.lanes(); lane += timing.grid.draws) {
    const double share =
        static_cast<double>(timing.grid.ranks_of(lane)) / static_cast<double>(ranks);
    seconds += from_picoseconds(timing.time(role, category, lane)).value * share;
  }
  return seconds;
}

}  // namespace

std::vector<Breakdown> stage_breakdowns(const Program& program, const StepTiming& timing) {
  std::vector<Breakdown> stages;
  for (std::size_t r = 0; r < timing.roles.size(); ++r) {
    BreakdownRows rows(program);
    for (std::size_t c = 0; c < timing.categories.size(); ++c) {
      rows.add(timing.categories[c], mean_seconds(timing, static_cast<int>(r), c));
    }
    stages.push_back(rows.take());
  }
  return stages;
}

Breakdown mean_breakdown(const std::vector<Breakdown>& stages) {
  CHECK(!stages.empty(), "a program has roles");
  Breakdown mean;
  std::map<std::string, double> modules;
  for (const Breakdown& b : stages) {
    for (const BreakdownTerm& term : breakdown_terms()) value_of(term, mean) += value_of(term, b);
    for (const auto& [name, seconds] : b.compute_by_module) modules[name] += seconds;
  }
  const double n = static_cast<double>(stages.size());
  for (const BreakdownTerm& term : breakdown_terms()) value_of(term, mean) /= n;
  for (const auto& [name, seconds] : modules)
    mean.compute_by_module.emplace_back(name, seconds / n);
  return mean;
}

}  // namespace windtunnel
