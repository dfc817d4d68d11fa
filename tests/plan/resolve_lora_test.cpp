// What adapters cannot be combined with is refused by name.

#include <gtest/gtest.h>

#include "tests/plan/resolving.h"

namespace windtunnel {
namespace {

std::string text(const std::string& plan, const std::string& model = "") {
  return "id: x\nmodel: {layers: 2, hidden: 64, ffn: 128, heads: 4, vocab: 256, activation: "
         "swiglu, "
         "bias: false, position: rope" +
         model +
         "}\ncluster: {device: h100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
         "batch: {global: 8, micro: 1, sequence: 64}\nplan: {" +
         plan + "}\n";
}

struct Refused {
  const char* plan;
  const char* said;
  const char* model = "";
};

void PrintTo(const Refused& row, std::ostream* out) {
  *out << row.plan;
}

class LoraRefusal : public testing::TestWithParam<Refused> {};

TEST_P(LoraRefusal, IsSaid) {
  const std::string said = refusal_of(text(GetParam().plan, GetParam().model));
  EXPECT_NE(said.find(GetParam().said), said.npos) << said;
}

INSTANTIATE_TEST_SUITE_P(
    Plan, LoraRefusal,
    testing::Values(
        Refused{"lora: {rank: 8}", "adapters of experts are not built",
                ", moe: {experts: 8, top_k: 2, ffn: 32}"},
        Refused{"lora: {rank: 8}", "adapters of latent attention",
                ", mla: {q_lora_rank: 8, kv_lora_rank: 8, qk_nope_head_dim: 8, qk_rope_head_dim: "
                "8, v_head_dim: 16}"},
        Refused{"lora: {rank: 8}", "multi-token prediction", ", mtp_layers: 1"},
        Refused{"lora: {rank: 1000000000000}", "wider than the 16777216 a model may be"},
        Refused{"lora: {rank: 8, modules: []}", "nothing to train"},
        Refused{"lora: {rank: 8, modules: [head]}", "attention, mlp"},
        Refused{"lora: {rank: 8}, pp: 2, schedule: {layers_per_stage: [0, 2]}", "no layers"},
        Refused{"lora: {rank: 6}, tp: 4", "rank = 6 is cut over tp = 4"},
        Refused{"preset: fsdp2, lora: {rank: 8}, tp: 2", "as Megatron-Bridge cuts them"},
        Refused{"preset: megatron, lora: {rank: 8}, precision: {compute: fp8}", "narrower than 16"},
        Refused{"preset: megatron, lora: {rank: 8}, tp: 2, sequence_parallel: true, overlap: {tp: "
                "true}",
                "overlap their transfers"},
        Refused{"lora: {rank: 8}, logits: {cross_entropy: chunked}", "chunked loss"},
        Refused{"preset: fsdp2, lora: {rank: 8}, cuda_graphs: true", "captured graphs"},
        Refused{"lora: {rank: 8}, offload: {optimizer: 1.0}", "on the host are not built"},
        Refused{"preset: fsdp1, lora: {rank: 8}", "a unit of each adapter"}));

TEST(ParallelBlock, RefusalsAreSaid) {
  const auto said = [](const std::string& plan, const std::string& model, const std::string& top) {
    return refusal_of(text(plan, ", parallel_block: true" + model) + top);
  };
  EXPECT_NE(said("precision: {compute: fp8}", "", "").find("narrower than 16"), std::string::npos);
  EXPECT_NE(said("tp: 2", "", "stack: {framework: gpt-neox}\n").find("gpt-neox reduces"),
            std::string::npos);
  EXPECT_NE(said("tp: 1", ", mtp_layers: 1", "").find("follow each other"), std::string::npos);
  EXPECT_EQ(said("tp: 1", "", "stack: {framework: gpt-neox}\n"), "not refused");
}

TEST(Lora, DefaultsAreTheRankAndAllModules) {
  const ResolvedScenario r = resolve_text(text("lora: {rank: 8}"));
  ASSERT_TRUE(r.plan.lora);
  EXPECT_EQ(r.plan.lora->alpha, 8);
  EXPECT_TRUE(r.plan.lora->attention && r.plan.lora->mlp);
  EXPECT_FALSE(r.plan.lora->per_projection);
  EXPECT_TRUE(resolve_text(text("preset: fsdp2, lora: {rank: 8}")).plan.lora->per_projection);
}

}  // namespace
}  // namespace windtunnel
