// What must divide and fit: each rule at its border, on both sides.

#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

/// A plan on 16 devices, 8 layers, 4 heads, sequence 64, global batch 32.
struct Case {
  const char* plan;
  const char* error;  // part of the message; empty: it loads
};

class Rules : public ::testing::TestWithParam<Case> {};

TEST_P(Rules, Hold) {
  const auto [plan, error] = GetParam();
  const std::string text = error_text(tiny_scenario(plan));
  if (*error == '\0') {
    EXPECT_EQ(text, "");
  } else {
    EXPECT_NE(text.find(error), std::string::npos) << "expected: " << error << "\ngot: " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Degrees, Rules,
    ::testing::Values(
        Case{"{tp: 4, pp: 4}", ""}, Case{"{tp: 2, pp: 4, dp: 2}", ""},
        Case{"{tp: 2, pp: 4, dp: 4}", "tp 2 * pp 4 * cp 1 * dp 4 = 32 devices, but"},
        Case{"{pp: 3}", "does not divide the cluster's 16 devices (nodes 2 * devices_per_node 8)"},
        Case{"{tp: 1000000, pp: 1000000, cp: 1000000, dp: 1000000}", "more than 64 bits"},
        Case{"{ep: 2}", "the model has no experts"}, Case{"{sharding: {shard_degree: 8}}", ""},
        Case{"{sharding: {shard_degree: 3}}", "shard_degree 3 does not divide"}));

INSTANTIATE_TEST_SUITE_P(
    Division, Rules,
    ::testing::Values(Case{"{tp: 8}", "tp 8 does not divide the model's heads 4"},
                      Case{"{tp: 4, sequence_parallel: true}", ""}, Case{"{cp: 16, tp: 1}", ""},
                      Case{"{dp: 16}", ""}, Case{"{order: dp-tp}", ""},
                      Case{"{order: tp-tp}", "`tp` stands there twice"},
                      Case{"{order: tp-xp}", "\"xp\" is not a dimension"}));

INSTANTIATE_TEST_SUITE_P(
    Schedule, Rules,
    ::testing::Values(
        Case{"{pp: 4, schedule: {kind: interleaved_1f1b, virtual_stages: 2}}", ""},
        Case{"{pp: 4, schedule: {kind: interleaved_1f1b}}", "needs virtual_stages of at least 2"},
        Case{"{pp: 4, schedule: {kind: 1f1b, virtual_stages: 2}}", "runs one chunk per device"},
        Case{"{pp: 4, schedule: {layers_per_stage: [1, 3, 3, 1]}}", ""},
        Case{"{pp: 4, schedule: {layers_per_stage: [0, 4, 4, 0]}}", ""},
        Case{"{pp: 4, schedule: {layers_per_stage: [4, 4]}}", "has 2 entries, but pp 4"},
        Case{"{pp: 4, schedule: {layers_per_stage: [2, 2, 2, 1]}}", "adds up to 7"},
        Case{"{pp: 16}", "= 16 chunks, but the model has 8 layers"}));

std::string with_batch(const std::string& batch, const std::string& plan) {
  return "model: {layers: 8, hidden: 64, ffn: 128, heads: 4, kv_heads: 2, vocab: 256}\n"
         "cluster: {device: unit, devices_per_node: 4, nodes: 1, unit: {hop: 0 s}}\n"
         "batch: " +
         batch + "\nplan: " + plan + "\n";
}

TEST(BatchRules, GlobalIsAMultipleOfMicroTimesDp) {
  EXPECT_EQ(error_text(with_batch("{global: 16, micro: 2, sequence: 8}", "{}")), "");
  EXPECT_NE(error_text(with_batch("{global: 12, micro: 2, sequence: 8}", "{}"))
                .find("global batch 12 is not a multiple of micro 2 * dp 4"),
            std::string::npos);
}

TEST(BatchRules, SequenceDividesByTensorParallelism) {
  EXPECT_NE(error_text(with_batch("{global: 4, micro: 1, sequence: 6}",
                                  "{tp: 4, sequence_parallel: true}"))
                .find("with tp 4 does not divide a sequence of 6"),
            std::string::npos);
  EXPECT_EQ(error_text(with_batch("{global: 4, micro: 1, sequence: 6}", "{tp: 4}")), "");
}

TEST(ModelRules, KeyValueHeadsAndTensorParallelism) {
  // 6 heads with 3 kv_heads: tp 6 repeats each twice, tp 3 takes one each, tp 2 cannot.
  const auto text = [](const char* tp) {
    return std::string(
               "model: {layers: 2, hidden: 60, ffn: 60, heads: 6, kv_heads: 3, vocab: 9}\n"
               "cluster: {device: unit, devices_per_node: 6, nodes: 1, unit: {}}\n"
               "batch: {global: 6, micro: 1, sequence: 6}\nplan: {tp: ") +
           tp + "}\n";
  };
  EXPECT_EQ(error_text(text("6")), "");
  EXPECT_EQ(error_text(text("3")), "");
  EXPECT_NE(error_text(text("2")).find("tp 2 and the model's 3 kv_heads do not divide"),
            std::string::npos);
}

TEST(ExpertRules, ExpertGroupsLieWithinAStage) {
  const auto text = [](const char* plan) {
    return std::string(
               "model: {layers: 4, hidden: 64, heads: 4, vocab: 256, "
               "moe: {experts: 8, top_k: 2, ffn: 32}}\n"
               "cluster: {device: unit, devices_per_node: 16, nodes: 1, unit: {}}\n"
               "batch: {global: 16, micro: 1, sequence: 64}\nplan: ") +
           plan + "\n";
  };
  EXPECT_EQ(error_text(text("{tp: 2, ep: 8}")), "");
  EXPECT_EQ(error_text(text("{tp: 2, ep: 8, etp: 2}")), "");
  EXPECT_NE(error_text(text("{pp: 4, ep: 8}")).find("ep 8 * etp 1 does not divide"),
            std::string::npos);
  EXPECT_NE(error_text(text("{tp: 2, ep: 16}")).find("ep 16 does not divide the model's 8 experts"),
            std::string::npos);
}

TEST(ClusterRules, SeveralNodesNeedANetwork) {
  const auto text = [](const char* more) {
    return std::string(
               "model: gpt2\ncluster: {device: gb200-186gb, devices_per_node: 4, nodes: 2") +
           more + "}\nbatch: {global: 8, micro: 1, sequence: 1024}\n";
  };
  EXPECT_NE(error_text(text("")).find("2 nodes need a network"), std::string::npos);
  EXPECT_EQ(error_text(text(", nvlink_domain: 72")), "");
  EXPECT_EQ(error_text(text(", network: ndr-4")), "");
}

TEST(ClusterRules, NodesAndRanksExist) {
  const std::string text = error_text(
      "model: gpt2\ncluster: {device: cpu, devices_per_node: 4, nodes: 1, "
      "degraded: [{node: 1, slowdown: 1.5}, {rank: 4, slowdown: 1.5}, {rank: 3, slowdown: 1.5}]}\n"
      "batch: {global: 4, micro: 1, sequence: 8}\nmeasured: {peak_rank: 4, oom: false}\n");
  EXPECT_NE(text.find("there is no node 1"), std::string::npos) << text;
  EXPECT_NE(text.find("there is no rank 4"), std::string::npos) << text;
  EXPECT_EQ(text.find("there is no rank 3"), std::string::npos) << text;
}

TEST(Magnitudes, ProductsBeyond64BitsAreRefused) {
  const auto text = [](const char* batch) {
    return std::string(
               "model: gpt2\ncluster: {device: cpu, devices_per_node: 1, nodes: 1}\nbatch: ") +
           batch + "\n";
  };
  EXPECT_NE(error_text(text("{global: 1000000000, micro: 1000000000, sequence: 1000000000}"))
                .find("that can be counted"),
            std::string::npos);
  EXPECT_EQ(error_text(text("{global: 1, micro: 1, sequence: 1000000}")), "");
}

}  // namespace
}  // namespace windtunnel
