#include "planning/measured/measured_step.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/check.h"
#include "planning/breakdown.h"
#include "planning/category_rows.h"
#include "planning/measured/joined_trace.h"
#include "planning/measured/rank_breakdown.h"
#include "planning/report_head.h"
#include "program/mesh.h"

namespace windtunnel {

namespace {

StepOfRanks step_of(const std::vector<RankOutcome>& outcomes, std::size_t step) {
  StepOfRanks ranks;
  for (const RankOutcome& rank : outcomes) ranks.push_back(&rank.steps[step]);
  return ranks;
}

Picoseconds end_of(const StepOfRanks& ranks) {
  Picoseconds end = 0;
  for (const StepOutcome* rank : ranks) end = std::max(end, rank->end);
  return end;
}

/// The step whose time is the median; of an even number the earlier in time of the middle two.
std::size_t median_of(const std::vector<double>& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  return order[(order.size() - 1) / 2];
}

/// Means over the ranks of each stage.
std::vector<Breakdown> by_stage(const Program& program, const std::vector<JoinedRank>& ranks,
                                Picoseconds end) {
  const Grid grid = dense_grid(program.mesh);
  std::vector<std::vector<Breakdown>> of_stage(static_cast<std::size_t>(program.mesh.pp));
  for (const JoinedRank& rank : ranks) {
    of_stage[static_cast<std::size_t>(coordinates_of(grid, rank.rank).pp)].push_back(
        rank_breakdown(program, rank, end));
  }
  std::vector<Breakdown> stages;
  for (const std::vector<Breakdown>& stage : of_stage) stages.push_back(mean_breakdown(stage));
  return stages;
}

/// The fullest rank of every stage.
std::vector<StageMemory> memory_of(const Program& program, const StepOfRanks& ranks) {
  const Grid grid = dense_grid(program.mesh);
  std::vector<StageMemory> stages(static_cast<std::size_t>(program.mesh.pp));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const int pp = coordinates_of(grid, static_cast<int>(r)).pp;
    const DevicePeak& peak = ranks[r]->memory;
    StageMemory& stage = stages[static_cast<std::size_t>(pp)];
    stage.stage = pp;
    if (peak.allocated_bytes <= stage.peak_allocated_bytes) continue;
    stage.peak_allocated_bytes = peak.allocated_bytes;
    stage.peak_reserved_bytes = peak.reserved_bytes;
    stage.peak_device_bytes = peak.reserved_bytes;
    stage.by_category = category_rows(peak.by_category);
  }
  return stages;
}

/// What the first rank of every stage sent, counted where it left.
std::vector<TrafficRow> traffic_of(const Program& program, const StepOfRanks& ranks) {
  const Grid grid = dense_grid(program.mesh);
  std::vector<TrafficRow> rows;
  for (int pp = 0; pp < program.mesh.pp; ++pp) {
    Coordinates at;
    at.pp = pp;
    for (const WireTraffic& t : ranks[static_cast<std::size_t>(rank_of(grid, at))]->traffic) {
      rows.push_back({.stage = pp,
                      .kind = name_of(static_cast<WireKind>(t.kind)),
                      .communicator = t.communicator,
                      .count = t.count,
                      .elements = t.bytes / bytes_of(WireType::fp32),
                      .bytes = t.bytes});
    }
  }
  return rows;
}

/// Every replica's last stage has its loss; the program averages them over the replicas.
double loss_of(const StepOfRanks& ranks) {
  for (const StepOutcome* rank : ranks) {
    if (rank->has_loss) return rank->loss;
  }
  return 0.0;
}

}  // namespace

MeasuredRun measured_run(const Lowered& lowered, const std::vector<RankOutcome>& outcomes) {
  const Program& program = lowered.program;
  CHECK(!outcomes.empty() && !outcomes.front().steps.empty(), "a run has a rank and a step");
  MeasuredRun run{.report = report_head(lowered), .trace = {}};
  StepReport& r = run.report;
  for (std::size_t step = 0; step < outcomes.front().steps.size(); ++step) {
    const StepOfRanks ranks = step_of(outcomes, step);
    r.step_times_s.push_back(from_picoseconds(end_of(ranks)).value);
    r.losses.push_back(loss_of(ranks));
  }
  const StepOfRanks ranks = step_of(outcomes, median_of(r.step_times_s));
  const Picoseconds end = end_of(ranks);
  const std::vector<JoinedRank> joined = join_ranks(program, ranks);
  run.trace = trace_of(program, joined);
  r.kind = StepKind::run;
  r.stages = by_stage(program, joined, end);
  r.breakdown = mean_breakdown(r.stages);
  const auto [shortest, longest] =
      std::minmax_element(r.step_times_s.begin(), r.step_times_s.end());
  r.step_time_spread_s = {*shortest, *longest};
  fill_step_time(r, lowered.resolved.scenario, from_picoseconds(end));
  r.memory.stages = memory_of(program, ranks);
  for (const StageMemory& stage : r.memory.stages) {
    const StageMemory& fullest = r.memory.stages[static_cast<std::size_t>(r.memory.fullest_stage)];
    if (stage.peak_reserved_bytes > fullest.peak_reserved_bytes)
      r.memory.fullest_stage = stage.stage;
  }
  r.traffic = traffic_of(program, ranks);
  fill_bottleneck(r);
  return run;
}

}  // namespace windtunnel
