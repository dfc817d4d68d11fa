// How many ranks share an expert when a scenario does not say.

#include "plan/resolve_experts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

constexpr const char* kExperts = ", moe: {experts: 16, top_k: 2, ffn: 32}";

std::string text_of(const std::string& plan, const std::string& model) {
  return fmt::format(
      "id: x\n"
      "model: {{layers: 2, hidden: 64, heads: 8, ffn: 128, vocab: 256, activation: swiglu{}}}\n"
      "cluster: {{device: h100-sxm-80gb, nodes: 1, devices_per_node: 16}}\n"
      "batch: {{global: 16, micro: 1, sequence: 64}}\n"
      "plan: {}\n",
      model, plan);
}

int etp_of(const std::string& plan) {
  return resolve_text(text_of(plan, kExperts)).plan.etp;
}

void expect_refused(const std::string& plan, const std::string& why) {
  const std::string text = refusal_of(text_of(plan, ""));
  EXPECT_NE(text.find(why), std::string::npos) << plan << ": " << text;
}

TEST(ResolveExperts, KeysOfExpertsNeedThem) {
  expect_refused("{tp: 2, dp: 8, etp: 2}", "the model has none");
  expect_refused("{dp: 16, overlap: {ep: true}}", "the model has none");
  expect_refused("{dp: 16, recompute: {kind: selective, modules: [moe]}}", "the model has none");
}

TEST(ResolveSharding, WhatBackwardsInTwoPartsDoNotGoWith) {
  expect_refused("{pp: 2, dp: 8, schedule: {kind: zb_h1}, sharding: {kind: zero2}}", "ZeRO-2");
  expect_refused("{pp: 4, dp: 4, preset: fsdp2, schedule: {kind: zb_h1}}", "without layers");
  expect_refused("{pp: 4, dp: 4, preset: ddp, schedule: {kind: zb_h1}}", "without layers");
}

TEST(ResolveExperts, MegatronSharesThemOverTp) {
  EXPECT_EQ(etp_of("{preset: megatron, tp: 2, dp: 8, ep: 8, sequence_parallel: true}"), 2);
  EXPECT_EQ(etp_of("{preset: megatron, tp: 2, dp: 8, ep: 8, etp: 1, sequence_parallel: true}"), 1);
}

TEST(ResolveExperts, UnlessTheGroupsWouldNotFit) {  // 16 groups of 2 are more than 16 devices
  EXPECT_EQ(etp_of("{preset: megatron, tp: 2, dp: 8, ep: 16, sequence_parallel: true}"), 1);
}

TEST(ResolveExperts, MegatronSharesThemWhereGroupsFitOverCp) {
  EXPECT_EQ(etp_of("{preset: megatron, tp: 2, cp: 2, dp: 4, ep: 8, sequence_parallel: true}"), 2);
}

// Three of six places, of which every two are a context-parallel group.
TEST(ResolveExperts, GroupsDoNotCutThroughContextParallelOnes) {
  const auto text = [](const char* order) {
    return fmt::format(
        "id: x\n"
        "model: {{layers: 2, hidden: 64, heads: 8, ffn: 128, vocab: 256, activation: swiglu,"
        " moe: {{experts: 6, top_k: 2, ffn: 32}}}}\n"
        "cluster: {{device: h100-sxm-80gb, nodes: 1, devices_per_node: 6}}\n"
        "batch: {{global: 3, micro: 1, sequence: 64}}\n"
        "plan: {{cp: 2, dp: 3, ep: 3, order: {}}}\n",
        order);
  };
  EXPECT_NE(refusal_of(text("tp-cp-ep-dp-pp")).find("cut through groups of 2"), std::string::npos);
  EXPECT_EQ(resolve_text(text("tp-dp-cp-pp")).plan.expert_ways, 3);
}

TEST(ResolveExperts, ShardGroupsHoldWholeExpertGroups) {
  const auto plan = [](int shard) {
    return fmt::format(
        "{{dp: 16, ep: 4, preset: fsdp2, sharding: {{kind: hsdp, shard_degree: {}}}}}", shard);
  };
  EXPECT_EQ(resolve_text(text_of(plan(8), kExperts)).plan.expert_shards(), 2);
  EXPECT_NE(refusal_of(text_of(plan(2), kExperts)).find("do not hold whole expert groups"),
            std::string::npos);
}

TEST(ResolveExperts, OtherStacksKeepThemWhole) {
  EXPECT_EQ(etp_of("{preset: none, tp: 2, dp: 8, ep: 8, sequence_parallel: true}"), 1);
  EXPECT_EQ(etp_of("{preset: none, tp: 2, dp: 8, ep: 1, sequence_parallel: true}"), 2);
}

}  // namespace
}  // namespace windtunnel
