// Is a run's account of time the engine's? Both get one trace, the simulation's. Where all ranks of
// a stage are alike nobody arrives late at a collective; at a message a rank of the other stage
// may.

#include "planning/measured/rank_breakdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "planning/breakdown.h"
#include "planning/breakdown_rows.h"
#include "planning/pricing.h"
#include "planning/simulate.h"
#include "program/verify_facts.h"
#include "report/breakdown_terms.h"
#include "scenarios/loader.h"
#include "sim/engine/simulate_step.h"

namespace windtunnel {
namespace {

constexpr double kRounding =
    1e-9;  // of a step of some hundred seconds, in another order of addition

Lowered lowered(const std::string& plan) {
  const std::string text =
      "model: {layers: 8, hidden: 1024, ffn: 4096, heads: 16, vocab: 32768}\n"
      "cluster: {device: unit, devices_per_node: 8, nodes: 2, unit: {layer: {F: 3 s, B: 5 s}, "
      "hop: 0.7 s, collective: {all_reduce: 0.4 s, all_gather: 0.3 s, reduce_scatter: 0.6 s}, "
      "launch: 0.01 s, else: 0.05 s}}\n"
      "batch: {global: 32, micro: 1, sequence: 1024}\n"
      "plan: " +
      plan + "\n";
  return lower_scenario(load_scenarios_text(text, "plan").scenarios.front());
}

/// What a run records: kernels and transfers.
bool recorded(const Op& op) {
  return op.kind == OpKind::compute || op.kind == OpKind::collective || op.kind == OpKind::send ||
         op.kind == OpKind::recv;
}

JoinedRank rank_of_trace(const Program& program, const Trace& trace, int role) {
  JoinedRank rank;
  for (const TraceRecord& record : trace.records) {
    if (record.role != role || record.lane != 0 || !recorded(program.ops[record.op])) continue;
    rank.records.push_back(record);
  }
  std::sort(rank.records.begin(), rank.records.end(),
            [](const TraceRecord& a, const TraceRecord& b) {
              return std::pair(a.call, a.op) < std::pair(b.call, b.op);  // as they are issued
            });
  Picoseconds came = 0;  // the compute stream has come to its next op
  for (const TraceRecord& record : rank.records) {
    const bool here = record.stream == Stream::compute;
    const Op& op = program.ops[record.op];
    const bool other_stages = op.kind != OpKind::collective || spans_roles(program.comms[op.comm]);
    rank.arrivals.push_back(
        here && other_stages ? std::min(record.start, std::max(came, record.issue)) : record.start);
    if (here) came = std::max(came, record.end);
  }
  return rank;
}

class OneTrace : public testing::TestWithParam<const char*> {};

TEST_P(OneTrace, HasOneAccount) {
  const Lowered l = lowered(GetParam());
  const PricedProgram priced = price_unit(l.program, l.resolved.scenario.cluster);
  const StepTiming timing = simulate_step(l.program, priced.costs, {.trace = true});
  const std::vector<Breakdown> engine = stage_breakdowns(l.program, timing);
  for (std::size_t role = 0; role < engine.size(); ++role) {
    const Breakdown run =
        rank_breakdown(l.program, rank_of_trace(l.program, timing.trace, static_cast<int>(role)),
                       timing.step_time[0]);
    for (const BreakdownTerm& term : breakdown_terms()) {
      EXPECT_NEAR(value_of(term, run), value_of(term, engine[role]), kRounding)
          << GetParam() << ", stage " << role << ", " << term.label;
    }
    EXPECT_GT(value_of(breakdown_terms().front(), run), 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, OneTrace,
    testing::Values("{tp: 2, dp: 8}", "{tp: 2, dp: 8, sharding: {kind: zero1}}",
                    "{tp: 4, pp: 2, dp: 2}", "{pp: 4, dp: 4, sharding: {kind: zero1}}",
                    "{preset: megatron, tp: 2, pp: 4, dp: 2, schedule: {kind: interleaved_1f1b, "
                    "virtual_stages: 2}}",
                    "{dp: 16, sharding: {kind: zero1, overlap_grad_reduce: true}}",
                    "{pp: 2, dp: 8, schedule: {kind: gpipe}}"));

}  // namespace
}  // namespace windtunnel
