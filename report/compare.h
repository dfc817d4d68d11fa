#pragma once
// How two steps differ, as plain data: every quantity of both sides, B against A.
//
// A is the reference: a difference is B - A, a relative one (B - A) / A. Compared are two
// simulations (what if), or a simulation and a run; give the run as A to get the prediction's
// error. Seconds, bytes, fractions of 1. Where the two have a different number of pipeline stages,
// nothing is compared stage by stage: only means, fullest stages and sums over stages.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/breakdown_terms.h"
#include "report/step_report.h"

namespace windtunnel {

/// One quantity of both sides.
template <class T>
struct Both {
  T a{}, b{};

  T difference() const { return b - a; }
  /// None when A has nothing of it.
  std::optional<double> relative() const {
    if (a == T{}) return std::nullopt;
    return static_cast<double>(b - a) / static_cast<double>(a);
  }
};

struct TermDifference {
  const BreakdownTerm* term = nullptr;
  Both<double> seconds;
};

struct ModuleDifference {
  std::string module;
  Both<double> seconds;
};

struct BreakdownDifference {
  std::vector<TermDifference> terms;      // all of breakdown_terms(), in their order
  std::vector<ModuleDifference> modules;  // those of either side, A's order first
};

/// Two stages, which have one number except where the fullest ones are compared.
struct MemoryDifference {
  Both<int> stage;
  Both<std::int64_t> allocated_bytes, reserved_bytes, device_bytes;  // peaks
  std::vector<std::pair<std::string, Both<std::int64_t>>> by_category;
};

struct TrafficDifference {
  int stage = 0;  // -1: sums over stages
  std::string kind, communicator;
  Both<std::int64_t> count, elements, bytes;
};

/// What a side is, for heads and for what only one side has.
struct ComparedStep {
  std::string id, name, model, cluster, plan, stack;
  StepKind kind = StepKind::simulation;
  std::array<double, 2> interval_s{};
  std::optional<std::array<double, 2>> spread_s;
  int stages = 0;         // pipeline stages with a breakdown
  int memory_stages = 0;  // 0: memory is not stated
  Verdict verdict = Verdict::fits;
};

struct Comparison {
  ComparedStep a, b;
  Both<double> step_time_s, tokens_per_s, tokens_per_s_per_device, mfu, hfu;
  BreakdownDifference breakdown;            // means over stages
  std::vector<BreakdownDifference> stages;  // empty where their numbers differ
  std::optional<MemoryDifference> fullest;  // of the fullest stage of each side
  std::vector<MemoryDifference> memory;     // by stage; empty where their numbers differ
  // Rows of traffic are sorted by communicator and kind, in each stage.
  std::vector<TrafficDifference> traffic;  // by stage; empty where their numbers differ
  std::vector<TrafficDifference> traffic_sums;

  bool same_stages() const { return a.stages == b.stages; }
};

Comparison compare_steps(const StepReport& a, const StepReport& b);

/// The terms that moved the step time: those that sum to it, largest change first in the direction
/// of the step's own; and the largest that went against it. Null when there is none.
struct Cause {
  const TermDifference* with = nullptr;
  const TermDifference* against = nullptr;
};
Cause cause_of(const Comparison& comparison);

}  // namespace windtunnel
