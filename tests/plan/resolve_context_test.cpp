// What context parallelism takes from a preset, and what is refused by name.

#include "plan/resolve_context.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

std::string text_of(const std::string& plan, const std::string& model = "",
                    const std::string& cluster = "devices_per_node: 8") {
  return fmt::format(
      "id: x\n"
      "model: {{layers: 4, hidden: 64, heads: 8, kv_heads: 4, ffn: 128, vocab: 256{}}}\n"
      "cluster: {{device: h100-sxm-80gb, nodes: 1, {}}}\n"
      "batch: {{global: 8, micro: 1, sequence: 48}}\n"
      "plan: {}\n",
      model, cluster, plan);
}

ResolvedScenario resolved(const std::string& plan, const std::string& model = "",
                          const std::string& cluster = "devices_per_node: 8") {
  return resolve_text(text_of(plan, model, cluster));
}

void expect_refused(const std::string& plan, const std::string& why,
                    const std::string& model = "") {
  const std::string text = refusal_of(text_of(plan, model));
  EXPECT_NE(text.find(why), std::string::npos) << plan << ": " << text;
}

TEST(ResolveContext, PresetsSayHow) {
  EXPECT_EQ(resolved("{cp: 2}").plan.cp_kind, CpKind::ring);
  EXPECT_FALSE(resolved("{cp: 2}").plan.overlap_cp);
  EXPECT_TRUE(resolved("{cp: 2, preset: megatron}").plan.overlap_cp);
  EXPECT_EQ(resolved("{cp: 2, preset: fsdp2}").plan.cp_kind, CpKind::all_gather);
  EXPECT_FALSE(resolved("{cp: 2, preset: fsdp2}").plan.overlap_cp);
  EXPECT_EQ(resolved("{cp: 2, preset: deepspeed}").plan.cp_kind, CpKind::ulysses);
}

TEST(ResolveContext, RanksOfOneNvlinkDomainExchangeHeads) {
  const auto heads = [](const std::string& plan, int domain) {
    return resolved(plan, "", fmt::format("devices_per_node: 8, nvlink_domain: {}", domain))
        .plan.cp_heads;
  };
  EXPECT_EQ(heads("{cp: 8, cp_kind: ulysses+ring}", 8), 4);  // kv_heads 4
  EXPECT_EQ(heads("{cp: 8, cp_kind: ulysses+ring}", 2), 2);
  EXPECT_EQ(heads("{cp: 4, tp: 2, cp_kind: ulysses+ring}", 4), 2);
  EXPECT_EQ(heads("{cp: 4, tp: 2, cp_kind: ulysses+ring}", 2), 1);  // tp fills the domain: a ring
  EXPECT_EQ(heads("{cp: 4, dp: 2, cp_kind: ulysses+ring, order: dp-tp-cp-pp}", 4), 2);
  EXPECT_EQ(heads("{cp: 4, cp_kind: ulysses}", 8), 4);
  EXPECT_EQ(heads("{cp: 4, cp_kind: ring}", 8), 1);
}

TEST(ResolveContext, WhatNoStackHasIsRefused) {
  expect_refused("{cp: 8, cp_kind: ulysses}", "cp = 8 does not divide the 4");
  expect_refused("{cp: 4, tp: 2, cp_kind: ulysses}", "does not divide the 2");
  expect_refused("{cp: 2, attention: unfused}", "unfused attention keeps no log");
  expect_refused("{cp: 2, cp_kind: all_gather, attention: unfused}",
                 "unfused attention keeps no log");
  expect_refused("{cp: 2}", "have no ALiBi", ", position: alibi");
  expect_refused("{cp: 4, cp_kind: ulysses+ring}", "have no ALiBi", ", position: alibi");
  expect_refused("{cp: 2, cp_kind: all_gather, overlap: {cp: true}}", "only hops around a ring");
  expect_refused(
      "{cp: 8, tp: 1, dp: 1, sequence_parallel: true, sharding: {kind: zero1, "
      "shard_degree: 3}}",
      "shard_degree 3 does not divide");
  EXPECT_EQ(refusal_of(text_of("{cp: 2, cp_kind: ulysses, attention: unfused}")), "not refused");
  EXPECT_EQ(refusal_of(text_of("{cp: 2, cp_kind: ulysses}", ", position: alibi")), "not refused");
}

TEST(ResolveContext, TwoChunksARank) {
  const std::string text =
      "id: x\nmodel: {layers: 4, hidden: 64, heads: 8, ffn: 128, vocab: 256}\n"
      "cluster: {device: h100-sxm-80gb, nodes: 1, devices_per_node: 2}\n"
      "batch: {global: 8, micro: 1, sequence: 30}\nplan: {cp: 2}\n";
  try {
    resolve(load_scenarios_text(text, "x.yaml").scenarios.at(0));
    FAIL() << "30 tokens are not 4 chunks";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("each of 2 ranks takes two chunks"), std::string::npos);
  }
}

TEST(ResolveContext, ShardsGoOverBoth) {
  EXPECT_EQ(resolved("{cp: 2, sharding: {kind: zero1}}").plan.shard_degree, 8);
  EXPECT_EQ(
      resolved("{cp: 2, preset: fsdp2, sharding: {kind: hsdp, shard_degree: 4}}").plan.replicas(),
      2);
}

}  // namespace
}  // namespace windtunnel
