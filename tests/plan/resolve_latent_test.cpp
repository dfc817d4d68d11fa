// What latent attention and multi-token prediction do not go with, refused by name.

#include "plan/resolve_latent.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

constexpr const char* kLatent =
    ", mla: {q_lora_rank: 8, kv_lora_rank: 8, qk_nope_head_dim: 8, qk_rope_head_dim: 4, "
    "v_head_dim: 8}";

std::string refusal(const std::string& plan, const std::string& model) {
  return refusal_of(
      fmt::format("id: x\n"
                  "model: {{layers: 4, heads: 8, ffn: 128, vocab: 256, activation: swiglu{}{}}}\n"
                  "cluster: {{device: h100-sxm-80gb, nodes: 1, devices_per_node: 8}}\n"
                  "batch: {{global: 8, micro: 1, sequence: 64}}\n"
                  "plan: {}\n",
                  model.find("hidden") == std::string::npos ? ", hidden: 64" : "", model, plan));
}

void expect_refused(const std::string& plan, const std::string& model, const std::string& why) {
  const std::string text = refusal(plan, model);
  EXPECT_NE(text.find(why), std::string::npos) << plan << model << ": " << text;
}

TEST(ResolveLatent, RunsWithTheRest) {
  EXPECT_EQ(refusal("{tp: 4, pp: 2}", kLatent), "not refused");
  EXPECT_EQ(refusal("{dp: 8, recompute: {kind: selective, modules: [mla_up_proj]}}", kLatent),
            "not refused");
}

TEST(ResolveLatent, RefusesByName) {
  const std::string latent = kLatent;
  expect_refused("{tp: 8}", latent + ", bias: true", "no biases");
  expect_refused("{tp: 8}", latent + ", position: learned", "rotates a part of its heads");
  expect_refused("{tp: 8, attention: unfused}", latent, "fused attention alone");
  expect_refused("{tp: 8}", latent + ", head_dim: 16", "states its own widths");
  expect_refused("{tp: 8}", latent + ", kv_heads: 2", "keys and values of its own");
  expect_refused("{tp: 8}",
                 ", mla: {q_lora_rank: 8, kv_lora_rank: 8, qk_nope_head_dim: 8, "
                 "qk_rope_head_dim: 3, v_head_dim: 8}",
                 "rotary columns come in pairs");
  expect_refused("{tp: 8, recompute: {kind: selective, modules: [mla_up_proj]}}", "",
                 "which the model lacks");
}

// Keys of 12 columns and values of 8: Transformer Engine hands them around a ring.
TEST(ResolveLatent, KeysWiderThanValuesGoAsStacksLetThem) {
  for (const char* kind : {"ring", "all_gather", "ulysses"}) {
    EXPECT_EQ(refusal(fmt::format("{{cp: 2, dp: 4, cp_kind: {}}}", kind), kLatent), "not refused");
    const std::string text =
        refusal(fmt::format("{{preset: megatron, cp: 2, dp: 4, cp_kind: {}}}", kind), kLatent);
    if (kind == std::string("ring")) {
      EXPECT_EQ(text, "not refused");
    } else {
      EXPECT_NE(text.find("around a ring alone"), std::string::npos) << text;
    }
  }
  const std::string equal =
      ", mla: {q_lora_rank: 8, kv_lora_rank: 8, qk_nope_head_dim: 4, qk_rope_head_dim: 4, "
      "v_head_dim: 8}";
  EXPECT_EQ(refusal("{preset: megatron, cp: 2, dp: 4, cp_kind: ulysses}", equal), "not refused");
}

TEST(ResolveLatent, ExchangedHeadsAreKept) {
  const std::string again = "recompute: {kind: selective, modules: [mla_up_proj]}}";
  EXPECT_EQ(refusal("{cp: 2, dp: 4, cp_kind: ring, " + again, kLatent), "not refused");
  expect_refused("{cp: 2, dp: 4, cp_kind: ulysses, " + again, kLatent, "would free nothing");
}

TEST(ResolveLatent, PredictionsNeedTheEmbeddingWholeAndTheirOwnStage) {
  EXPECT_EQ(refusal("{dp: 8, preset: fsdp2}", ", mtp_layers: 1"), "not refused");
  expect_refused("{pp: 2, dp: 4, preset: fsdp2}", ", mtp_layers: 1", "sharded apart");
  expect_refused("{pp: 2, dp: 4, schedule: {kind: zb_v}}", ", mtp_layers: 1",
                 "a weight that both use");
  expect_refused("{tp: 8}", ", head_dim: 8, hidden: 60, mtp_layers: 1",
                 "which tp = 8 does not divide");
}

}  // namespace
}  // namespace windtunnel
