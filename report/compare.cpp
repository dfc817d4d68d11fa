#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace windtunnel {

namespace {

ComparedStep head_of(const StepReport& r) {
  return {.id = r.id,
          .name = r.name,
          .model = r.model_line,
          .cluster = r.cluster_line,
          .plan = r.plan_line,
          .stack = r.stack_line,
          .kind = r.kind,
          .interval_s = r.step_time_interval_s,
          .spread_s = r.step_time_spread_s,
          .stages = static_cast<int>(r.stages.size()),
          .memory_stages = static_cast<int>(r.memory.stages.size()),
          .verdict = r.memory.verdict};
}

/// Named values of both sides joined by name: A's order, then what only B has.
template <class T>
std::vector<std::pair<std::string, Both<T>>> join(const std::vector<std::pair<std::string, T>>& a,
                                                  const std::vector<std::pair<std::string, T>>& b) {
  std::vector<std::pair<std::string, Both<T>>> joined;
  for (const auto& [name, value] : a) joined.push_back({name, {.a = value, .b = T{}}});
  for (const auto& [name, value] : b) {
    const auto same = [&name = name](const auto& row) { return row.first == name; };
    const auto found = std::find_if(joined.begin(), joined.end(), same);
    if (found != joined.end()) {
      found->second.b = value;
    } else {
      joined.push_back({name, {.a = T{}, .b = value}});
    }
  }
  return joined;
}

BreakdownDifference compare_breakdowns(const Breakdown& a, const Breakdown& b) {
  BreakdownDifference difference;
  for (const BreakdownTerm& term : breakdown_terms()) {
    difference.terms.push_back(
        {.term = &term, .seconds = {.a = value_of(term, a), .b = value_of(term, b)}});
  }
  for (auto& [name, seconds] : join(a.compute_by_module, b.compute_by_module)) {
    difference.modules.push_back({.module = name, .seconds = seconds});
  }
  return difference;
}

MemoryDifference compare_memory(const StageMemory& a, const StageMemory& b) {
  return {.stage = {.a = a.stage, .b = b.stage},
          .allocated_bytes = {.a = a.peak_allocated_bytes, .b = b.peak_allocated_bytes},
          .reserved_bytes = {.a = a.peak_reserved_bytes, .b = b.peak_reserved_bytes},
          .device_bytes = {.a = a.peak_device_bytes, .b = b.peak_device_bytes},
          .by_category = join(a.by_category, b.by_category)};
}

const StageMemory* memory_of_stage(const MemoryAnswer& memory, int stage) {
  const auto found =
      std::find_if(memory.stages.begin(), memory.stages.end(),
                   [stage](const StageMemory& candidate) { return candidate.stage == stage; });
  return found != memory.stages.end() ? &*found : nullptr;
}

void fill_memory(Comparison& c, const MemoryAnswer& a, const MemoryAnswer& b) {
  const StageMemory* fullest_a = memory_of_stage(a, a.fullest_stage);
  const StageMemory* fullest_b = memory_of_stage(b, b.fullest_stage);
  if (fullest_a && fullest_b) c.fullest = compare_memory(*fullest_a, *fullest_b);
  if (!c.same_stages()) return;
  for (const StageMemory& stage : a.stages) {
    const StageMemory* other = memory_of_stage(b, stage.stage);
    if (other) c.memory.push_back(compare_memory(stage, *other));
  }
}

/// Rows of traffic by what they are.
using TrafficIndex = std::map<std::tuple<int, std::string, std::string>, TrafficDifference>;

constexpr int kAllStages = -1;

template <std::int64_t Both<std::int64_t>::*kSide>
void add(TrafficIndex& rows, const TrafficRow& row, int stage) {
  TrafficDifference& sum = rows[{stage, row.communicator, row.kind}];
  sum.stage = stage;
  sum.kind = row.kind;
  sum.communicator = row.communicator;
  sum.count.*kSide += row.count;
  sum.elements.*kSide += row.elements;
  sum.bytes.*kSide += row.bytes;
}

template <std::int64_t Both<std::int64_t>::*kSide>
void add_all(TrafficIndex& rows, const Comparison& c, const StepReport& report) {
  for (const TrafficRow& row : report.traffic) {
    add<kSide>(rows, row, kAllStages);
    if (c.same_stages()) add<kSide>(rows, row, row.stage);
  }
}

void fill_traffic(Comparison& c, const StepReport& a, const StepReport& b) {
  TrafficIndex rows;
  add_all<&Both<std::int64_t>::a>(rows, c, a);
  add_all<&Both<std::int64_t>::b>(rows, c, b);
  for (auto& [key, row] : rows) {
    (row.stage == kAllStages ? c.traffic_sums : c.traffic).push_back(std::move(row));
  }
}

}  // namespace

Comparison compare_steps(const StepReport& a, const StepReport& b) {
  Comparison c{
      .a = head_of(a),
      .b = head_of(b),
      .step_time_s = {.a = a.step_time_s, .b = b.step_time_s},
      .tokens_per_s = {.a = a.tokens_per_s, .b = b.tokens_per_s},
      .tokens_per_s_per_device = {.a = a.tokens_per_s_per_device, .b = b.tokens_per_s_per_device},
      .mfu = {.a = a.mfu, .b = b.mfu},
      .hfu = {.a = a.hfu, .b = b.hfu},
      .breakdown = compare_breakdowns(a.breakdown, b.breakdown)};
  if (c.same_stages()) {
    for (std::size_t i = 0; i < a.stages.size(); ++i) {
      c.stages.push_back(compare_breakdowns(a.stages[i], b.stages[i]));
    }
  }
  fill_memory(c, a.memory, b.memory);
  fill_traffic(c, a, b);
  return c;
}

Cause cause_of(const Comparison& comparison) {
  const double direction = comparison.step_time_s.difference() < 0 ? -1.0 : 1.0;
  Cause cause;
  for (const TermDifference& row : comparison.breakdown.terms) {
    const double change = direction * row.seconds.difference();
    if (row.term->part || change == 0.0) continue;
    const TermDifference*& largest = change > 0 ? cause.with : cause.against;
    if (!largest || std::abs(row.seconds.difference()) > std::abs(largest->seconds.difference())) {
      largest = &row;
    }
  }
  return cause;
}

}  // namespace windtunnel
