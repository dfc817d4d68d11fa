// Which stacks run products beside tensor-parallel transfers, and what is refused by name.

#include "plan/resolve_overlap.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

std::string text_of(const std::string& plan, const std::string& stack,
                    const std::string& hidden = "64") {
  return fmt::format(
      "id: x\n"
      "stack: {{{}}}\n"
      "model: {{layers: 4, hidden: {}, heads: 8, kv_heads: 4, head_dim: 8, ffn: 128, vocab: 256}}\n"
      "cluster: {{device: h100-sxm-80gb, nodes: 1, devices_per_node: 8}}\n"
      "batch: {{global: 8, micro: 1, sequence: 48}}\n"
      "plan: {}\n",
      stack, hidden, plan);
}

ResolvedScenario resolved(const std::string& plan, const std::string& stack,
                          const std::string& hidden = "64") {
  return resolve_text(text_of(plan, stack, hidden));
}

constexpr const char* kOverlapped = "{tp: 2, sequence_parallel: true, overlap: {tp: true}}";
constexpr const char* kMegatron = "framework: megatron-lm, date: 2025-06";

void expect_refused(const std::string& why, const std::string& plan, const std::string& stack,
                    const std::string& hidden = "64") {
  const std::string text = refusal_of(text_of(plan, stack, hidden));
  EXPECT_NE(text.find(why), std::string::npos) << stack << " " << plan << ": " << text;
}

TEST(ResolveOverlap, StacksThatHaveIt) {
  for (const char* stack : {"framework: ''", kMegatron, "framework: NeMo, date: 2023-05",
                            "framework: torchtitan, date: 2025-06"}) {
    EXPECT_TRUE(resolved(kOverlapped, stack).plan.overlap_tp) << stack;
  }
  EXPECT_FALSE(resolved("{tp: 2, sequence_parallel: true}", kMegatron).plan.overlap_tp);
}

TEST(ResolveOverlap, StacksThatHaveItNot) {
  for (const char* stack :
       {"framework: nanotron", "framework: deepspeed", "framework: megatron-deepspeed",
        "framework: aleph alpha", "framework: megatron-lm, date: 2022-06",
        "framework: torchtitan, date: 2024-03"}) {
    expect_refused("has no products beside the transfers", kOverlapped, stack);
  }
}

TEST(ResolveOverlap, WhatItNeeds) {
  expect_refused("one tp rank has nothing to transfer", "{tp: 1, overlap: {tp: true}}", kMegatron);
  expect_refused("gathers and scatters of sequence parallelism", "{tp: 2, overlap: {tp: true}}",
                 kMegatron);
  expect_refused("hidden = 66 is not 4 equal ranges", kOverlapped, kMegatron, "66");
  for (const char* precision : {"{compute: fp8, fp8_recipe: blockwise}", "{compute: nvfp4}"}) {
    expect_refused("userbuffers have no",
                   fmt::format("{{tp: 2, sequence_parallel: true, overlap: {{tp: true}}, "
                               "precision: {}}}",
                               precision),
                   kMegatron);
  }
}

TEST(ResolveOverlap, InterleavedTransfersAreAsynchronousSinceMay2023) {
  const std::string plan = "{preset: megatron, pp: 2, schedule: {virtual_stages: 2}}";
  EXPECT_TRUE(resolved(plan, "framework: NeMo, date: 2023-05").plan.overlap_pp);
  EXPECT_FALSE(resolved(plan, "framework: NeMo, date: 2023-04").plan.overlap_pp);
}

}  // namespace
}  // namespace windtunnel
