#include "plan/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/loader.h"

namespace windtunnel {
namespace {

ResolvedScenario resolved(const std::string& stack, const std::string& plan, int nodes = 1) {
  const std::string text = stack +
                           "model: {layers: 8, hidden: 64, ffn: 256, heads: 8, vocab: 1000}\n"
                           "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: " +
                           std::to_string(nodes) +
                           ", network: {nics_per_node: 8, nic_bandwidth: 200 Gbit/s, kind: ib}}\n"
                           "batch: {global: 64, micro: 1, sequence: 32}\nplan: " +
                           plan + "\n";
  return resolve(load_scenarios_text(text, "test.yaml").scenarios.front());
}

std::string origin_of(const ResolvedScenario& r, const std::string& key) {
  const auto it = std::find_if(r.keys.begin(), r.keys.end(),
                               [&](const ResolvedKey& k) { return k.key == key; });
  return it == r.keys.end() ? "" : it->origin;
}

TEST(Resolve, EveryValueSaysWhereItCameFrom) {
  const ResolvedScenario r = resolved("stack: {framework: megatron-lm, date: 2022-05}\n",
                                      "{preset: megatron, tp: 2, sequence_parallel: true}");
  EXPECT_EQ(r.plan.dp, 4);
  EXPECT_EQ(origin_of(r, "plan.dp"), "computed");
  EXPECT_EQ(origin_of(r, "plan.sequence_parallel"), "scenario");
  EXPECT_EQ(origin_of(r, "plan.sharding.kind"), "preset megatron");
  EXPECT_EQ(r.plan.vocab_padded, 1024);  // a multiple of 128 * tp
  EXPECT_EQ(origin_of(r, "model.vocab_padded_to"), "framework rule megatron-lm");
}

TEST(Resolve, PresetNoneIsTheTextbookPlan) {
  const ResolvedScenario r = resolved("", "{pp: 2}");
  EXPECT_EQ(r.plan.sharding, ShardingKind::none);
  EXPECT_FALSE(r.plan.overlap_pp);
  EXPECT_EQ(r.plan.grads, Dtype::fp32);
  EXPECT_EQ(r.plan.vocab_padded, 1000);
  EXPECT_TRUE(r.rules.known);
}

TEST(Resolve, AnUnknownFrameworkIsAnAssumption) {
  const ResolvedScenario r = resolved("stack: {framework: house brand}\n", "{preset: megatron}");
  EXPECT_FALSE(r.rules.known);
  ASSERT_FALSE(r.assumptions.empty());
  EXPECT_NE(r.assumptions.front().find("house brand"), std::string::npos);
}

TEST(Resolve, OracleO_064_MegatronBucket) {
  const std::string overlap =
      "{preset: megatron, sharding: {kind: zero1, overlap_grad_reduce: true}}";
  EXPECT_EQ(resolved("stack: {framework: megatron-lm}\n", overlap).plan.bucket,
            40'000'000);  // dp 8
  EXPECT_EQ(resolved("stack: {framework: megatron-lm}\n", overlap, 8).plan.bucket,
            64'000'000);  // dp 64
}

TEST(Resolve, KeysThatAreNotBuiltAreRefusedByName) {
  try {
    resolved("", "{optimizer: muon}");
    FAIL() << "muon is not built";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("plan.optimizer"), std::string::npos) << e.what();
  }
}

TEST(Resolve, RecomputationWithoutAKindIsRefused) {
  EXPECT_THROW(resolved("", "{recompute: {modules: [mlp]}}"), InputError);
  EXPECT_THROW(resolved("", "{recompute: {layers: 2}}"), InputError);
  EXPECT_THROW(resolved("", "{recompute: {kind: full, modules: [mlp]}}"), InputError);
  EXPECT_EQ(resolved("", "{recompute: {kind: full, layers: 2}}").plan.recompute,
            RecomputeKind::full);
}

TEST(Resolve, InterleavingThatTheScheduleRefuses) {
  // 64 sequences over dp 2 in micro-batches of 16: 2 micro-batches, fewer than pp = 4.
  const std::string text =
      "model: {layers: 8, hidden: 64, ffn: 256, heads: 8, vocab: 1000}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
      "batch: {global: 64, micro: 16, sequence: 32}\n"
      "plan: {pp: 4, schedule: {kind: interleaved_1f1b, virtual_stages: 2}}\n";
  EXPECT_THROW(resolve(load_scenarios_text(text, "test.yaml").scenarios.front()), InputError);
}

TEST(Resolve, VirtualStagesOfOneDeviceAreOneChunk) {
  const ResolvedScenario r =
      resolved("", "{schedule: {virtual_stages: 2, layers_per_stage: [3, 5]}}");
  EXPECT_EQ(r.plan.virtual_stages, 1);
  EXPECT_EQ(r.plan.layers_per_chunk, std::vector<int>{8});
}

TEST(Resolve, MorePassesThanAProgramMayHaveAreRefused) {
  const std::string text =
      "model: {layers: 8, hidden: 64, ffn: 256, heads: 8, vocab: 1000}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
      "batch: {global: 500000000, micro: 1, sequence: 32}\n"
      "plan: {pp: 4}\n";
  try {
    resolve(load_scenarios_text(text, "test.yaml").scenarios.front());
    FAIL() << "250,000,000 micro-batches through 4 chunks";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("more passes"), std::string::npos) << e.what();
  }
}

/// Both ends lie on stage 0 there.
TEST(Resolve, TiedEmbeddingsWithBothEndsOnOneStageAreRefused) {
  for (const char* kind : {"zb_v", "dualpipe_v", "dualpipe"}) {
    const std::string text =
        "model: {layers: 8, hidden: 64, ffn: 256, heads: 8, vocab: 1000, tied_embeddings: true}\n"
        "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
        "batch: {global: 64, micro: 1, sequence: 32}\n"
        "plan: {pp: 4, schedule: {kind: " +
        std::string(kind) + "}}\n";
    try {
      resolve(load_scenarios_text(text, "test.yaml").scenarios.front());
      FAIL() << kind;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("lie on one stage"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace windtunnel
