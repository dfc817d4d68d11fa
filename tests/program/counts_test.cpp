// Does a program communicate what the closed forms say? Oracles O-065 to O-070, O-073 and O-074 of
// the closed-form table, on the real path: scenario, lowering, count.
//
// Counts leave out what happens once per step: the phases after backward.

#include <gtest/gtest.h>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "program/collective_counts.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

struct Passes {
  CollectiveCounts forward, backward;

  std::int64_t count(Collective c) const { return forward.sum(c).count + backward.sum(c).count; }
  std::int64_t count(OpKind k) const { return forward.sum(k).count + backward.sum(k).count; }
  std::int64_t bytes(Collective c) const { return forward.sum(c).bytes + backward.sum(c).bytes; }
};

Passes passes_of(const Program& program, std::size_t stage, CountFilter filter = {}) {
  Passes passes;
  filter.phase = Phase::forward;
  passes.forward = count_collectives(program, stage, filter);
  filter.phase = Phase::backward;
  passes.backward = count_collectives(program, stage, filter);
  return passes;
}

/// 8 layers, t = 2, p = 2, m = 4, untied, one replica.
Program tiny(const std::string& plan) {
  return lower(resolve(load_scenarios_text(R"(
id: tiny
model: {name: tiny, layers: 8, hidden: 64, ffn: 256, heads: 4, vocab: 512, norm: rmsnorm,
        activation: swiglu, position: rope, bias: false}
cluster: {device: a100-sxm-80gb, devices_per_node: 4, nodes: 1}
batch: {global: 4, micro: 1, sequence: 32}
plan: {tp: 2, pp: 2, )" + plan + "}\n",
                                           "tiny.yaml")
                           .scenarios.at(0)));
}

constexpr std::int64_t kTokens = 32, kHidden = 64, kBf16 = 2;  // T and h of tiny

CountFilter one_layer_once() {
  return {.comm = "tp", .layer = 1, .micro_batch = 2};
}

TEST(Counts, O065TensorParallelReducesFourTimesPerLayer) {
  const Passes p = passes_of(tiny("sequence_parallel: false"), 0, one_layer_once());
  EXPECT_EQ(p.count(Collective::all_reduce), 4);
  EXPECT_EQ(p.bytes(Collective::all_reduce), 4 * kBf16 * kTokens * kHidden);
  EXPECT_EQ(p.count(Collective::all_gather), 0);
}

TEST(Counts, O066SequenceParallelGathersSixAndScattersFourTimesPerLayer) {
  const Passes p = passes_of(tiny("sequence_parallel: true"), 0, one_layer_once());
  EXPECT_EQ(p.count(Collective::all_gather), 6);
  EXPECT_EQ(p.count(Collective::reduce_scatter), 4);
  EXPECT_EQ(p.bytes(Collective::all_gather), 6 * kBf16 * kTokens * kHidden);
  EXPECT_EQ(p.count(Collective::all_reduce), 0);
}

TEST(Counts, O067FullRecomputeAddsTwoOfEach) {
  const Passes p =
      passes_of(tiny("sequence_parallel: true, recompute: {kind: full}"), 0, one_layer_once());
  EXPECT_EQ(p.count(Collective::all_gather), 8);
  EXPECT_EQ(p.count(Collective::reduce_scatter), 6);
}

TEST(Counts, O068FirstStageWithSequenceParallel) {
  const Passes p = passes_of(tiny("sequence_parallel: true"), 0);
  EXPECT_EQ(p.count(Collective::all_gather), 100);
  EXPECT_EQ(p.count(Collective::reduce_scatter), 68);
  EXPECT_EQ(p.count(Collective::all_reduce), 0);
  EXPECT_EQ(p.count(OpKind::send), 4);
  EXPECT_EQ(p.count(OpKind::recv), 4);
}

TEST(Counts, O069LastStageWithSequenceParallel) {
  const Passes p = passes_of(tiny("sequence_parallel: true"), 1);
  EXPECT_EQ(p.count(Collective::all_gather), 104);
  EXPECT_EQ(p.count(Collective::reduce_scatter), 68);
  EXPECT_EQ(p.count(Collective::all_reduce), 12);
  EXPECT_EQ(p.count(OpKind::send), 4);
  EXPECT_EQ(p.count(OpKind::recv), 4);
}

TEST(Counts, O070WithoutSequenceParallel) {
  const Program program = tiny("sequence_parallel: false");
  EXPECT_EQ(passes_of(program, 0).count(Collective::all_reduce), 68);
  const Passes last = passes_of(program, 1);
  CountFilter loss;
  loss.module = Module::loss;
  EXPECT_EQ(passes_of(program, 1, loss).count(Collective::all_reduce), 12);
  EXPECT_EQ(last.count(Collective::all_reduce), 64 + 4 + 12);
}

TEST(Counts, O073CrossEntropyReducesThreeWordsPerToken) {
  const Program program = lower(resolve(load_scenarios_text(R"(
id: loss
model: {name: loss, layers: 1, hidden: 64, ffn: 256, heads: 4, vocab: 512}
cluster: {device: a100-sxm-80gb, devices_per_node: 2, nodes: 1}
batch: {global: 1, micro: 1, sequence: 8192}
plan: {tp: 2}
)",
                                                            "loss.yaml")
                                            .scenarios.at(0)));
  const CollectiveCount reduced =
      count_collectives(program, 0, {.phase = Phase::forward, .module = Module::loss})
          .sum(Collective::all_reduce);
  EXPECT_EQ(reduced.count, 3);
  EXPECT_EQ(reduced.bytes, 3 * 32'768);
}

TEST(Counts, O074TiedEmbeddingOfGpt3) {
  const Program program = lower(resolve(load_scenarios_text(R"(
id: tied
model: {name: gpt3, layers: 96, hidden: 12288, ffn: 49152, heads: 96, vocab: 51200,
        tied_embeddings: true}
cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 8,
          network: {nics_per_node: 8, nic_bandwidth: "200 Gbit/s", latency: "2 us"}}
batch: {global: 64, micro: 1, sequence: 2048}
plan: {tp: 8, pp: 8}
)",
                                                            "tied.yaml")
                                            .scenarios.at(0)));
  for (const std::size_t stage : {std::size_t{0}, std::size_t{7}}) {
    const CollectiveCount reduced =
        count_collectives(program, stage, {.comm = "embedding"}).sum(Collective::all_reduce);
    EXPECT_EQ(reduced.count, 1) << "stage " << stage;
    EXPECT_EQ(reduced.bytes, 314'572'800) << "stage " << stage;
  }
  EXPECT_EQ(count_collectives(program, 3, {.comm = "embedding"}).collectives.size(), 0u);
}

TEST(Counts, RowsAreInOrderOfIssueAndAddUp) {
  const CollectiveCounts all = count_collectives(tiny("sequence_parallel: true"), 1);
  std::int64_t gathers = 0;
  for (const CollectiveCount& c : all.collectives) {
    if (c.collective == Collective::all_gather) gathers += c.count;
  }
  EXPECT_EQ(all.sum(Collective::all_gather).count, gathers);
  ASSERT_FALSE(all.transfers.empty());
  EXPECT_EQ(all.transfers[0].kind, OpKind::recv);
  EXPECT_EQ(all.transfers[0].phase, Phase::forward);
  EXPECT_EQ(all.transfers[0].bytes, 4 * kBf16 * kTokens * kHidden / 2);  // sequence-parallel half
}

}  // namespace
}  // namespace windtunnel
