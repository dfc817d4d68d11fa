#include "planning/traffic.h"

#include <gtest/gtest.h>

#include "planning/simulate.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

std::vector<TrafficRow> rows_of(const std::string& plan) {
  const ScenarioSet set = load_scenarios_text(
      "model: {name: tiny, layers: 2, hidden: 64, ffn: 256, heads: 4, vocab: 512, "
      "activation: gelu}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 2, nodes: 1}\n"
      "batch: {global: 4, micro: 1, sequence: 32}\n" +
          plan,
      "traffic.yaml");
  return traffic_rows(lower_scenario(set.scenarios.front()).program);
}

const TrafficRow* find(const std::vector<TrafficRow>& rows, int stage, const std::string& kind,
                       const std::string& communicator) {
  for (const TrafficRow& row : rows) {
    if (row.stage == stage && row.kind == kind && row.communicator == communicator) return &row;
  }
  return nullptr;
}

constexpr std::int64_t kMicroBatches = 4, kTokens = 32, kHidden = 64;
constexpr std::int64_t kHalf = 2;  // bytes of an activation

TEST(TrafficRows, ThePipelineSendsOneActivationAMicroBatchEachWay) {
  const auto rows = rows_of("plan: {pp: 2, schedule: {kind: 1f1b}}\n");
  for (const auto& [stage, kind, comm] : {std::tuple{0, "send", "pp_fwd"},
                                          {1, "recv", "pp_fwd"},
                                          {1, "send", "pp_bwd"},
                                          {0, "recv", "pp_bwd"}}) {
    const TrafficRow* row = find(rows, stage, kind, comm);
    ASSERT_NE(row, nullptr) << stage << kind << comm;
    EXPECT_EQ(row->count, kMicroBatches);
    EXPECT_EQ(row->elements, kMicroBatches * kTokens * kHidden);
    EXPECT_EQ(row->bytes, row->elements * kHalf);
  }
  EXPECT_EQ(find(rows, 1, "send", "pp_fwd"), nullptr) << "the last stage has nobody behind it";
}

TEST(TrafficRows, PhasesOfOneKindAreOneRow) {
  const auto rows = rows_of("plan: {tp: 2, schedule: {kind: 1f1b}}\n");
  std::size_t all_reduces = 0;
  for (const TrafficRow& row : rows) {
    all_reduces += row.kind == "all_reduce" && row.communicator == "tp" ? 1 : 0;
  }
  EXPECT_EQ(all_reduces, 1U) << "forward and backward both reduce over tp";
  // Two a layer forward and two backward at least (Megatron's f and g).
  EXPECT_GE(find(rows, 0, "all_reduce", "tp")->count, 2 * 4 * kMicroBatches);
}

}  // namespace
}  // namespace windtunnel
