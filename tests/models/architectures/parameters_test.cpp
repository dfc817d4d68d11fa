// Are the parameters of a model exactly those its shapes say?

#include "models/architectures/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/architectures/hf_config.h"
#include "models/architectures/zoo.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel {
namespace {

Model zoo(const char* name) {
  return zoo_model(name).value();
}

Model hf(const char* file) {
  return load_hf_config(std::string(WINDTUNNEL_SOURCE_DIR "/tests/models/architectures/data/") +
                        file);
}

Model tiny_llama() {
  return {.name = "tiny",
          .layers = 8,
          .hidden = 64,
          .ffn = 128,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16,
          .vocab = 256,
          .vocab_padded_to = std::nullopt,
          .activation = Activation::swiglu,
          .norm = NormKind::rmsnorm,
          .position = PositionKind::rope,
          .bias = false,
          .sliding_window = std::nullopt,
          .layer_pattern = {},
          .mla = std::nullopt,
          .moe = std::nullopt};
}

TEST(Parameters, Oracle_O_007_gpt2) {
  expect_exact("O-007", 124'439'808, count_parameters(zoo("gpt2")).total());
}

TEST(Parameters, Oracle_O_008_gpt2_padded_vocabulary) {
  const Model model = zoo("gpt2");
  expect_exact("O-008 rows", 50'304, padded_vocab(model.vocab, 128));
  expect_exact("O-008", 124'475'904,
               count_parameters(model, padded_vocab(model.vocab, 128)).total());
}

TEST(Parameters, Oracle_O_009_llama2_7b) {
  expect_exact("O-009", 6'738'415'616, count_parameters(zoo("llama2-7b")).total());
}

TEST(Parameters, Oracle_O_010_llama2_70b) {
  expect_exact("O-010", 68'976'648'192, count_parameters(zoo("llama2-70b")).total());
}

TEST(Parameters, Oracle_O_011_llama3_8b) {
  expect_exact("O-011", 8'030'261'248, count_parameters(zoo("llama3-8b")).total());
}

TEST(Parameters, Oracle_O_012_llama3_70b) {
  expect_exact("O-012", 70'553'706'496, count_parameters(zoo("llama3-70b")).total());
}

TEST(Parameters, Oracle_O_013_llama3_405b) {
  expect_exact("O-013", 405'853'388'800, count_parameters(zoo("llama3-405b")).total());
}

TEST(Parameters, Oracle_O_014_mixtral_8x7b) {
  const ParameterCount count = count_parameters(hf("mixtral-8x7b.json"));
  expect_exact("O-014 total", 46'702'792'704, count.total());
  expect_exact("O-014 active", 12'879'925'248, count.active());
  expect_exact("O-014 zoo", count.total(), count_parameters(zoo("mixtral-8x7b")).total());
}

TEST(Parameters, Oracle_O_015_deepseek_v3) {
  const ParameterCount count = count_parameters(hf("deepseek-v3.json"));
  expect_exact("O-015", 671'026'419'200, count.total());
  expect_exact("active", 37'552'282'624, count.active());
  const ParameterCount of_zoo = count_parameters(zoo("deepseek-v3"));
  expect_exact("O-015 zoo", count.total(), of_zoo.total());
  expect_exact("prediction layer", count.mtp, of_zoo.mtp);
}

TEST(Parameters, Oracle_O_016_tiny_llama) {
  expect_exact("O-016", 328'768, count_parameters(tiny_llama()).total());
}

// Totals published with the weights.
TEST(Parameters, PublishedTotals) {
  expect_exact("GPT-2 XL", 1'557'611'200, count_parameters(zoo("gpt2-xl")).total());
  expect_exact("GPT-3", 174'604'259'328, count_parameters(zoo("gpt3-175b")).total());
  expect_exact("Llama-2-13B", 13'015'864'320, count_parameters(zoo("llama2-13b")).total());
  expect_exact("Qwen3-30B", count_parameters(hf("qwen3-30b-a3b.json")).total(),
               count_parameters(zoo("qwen3-30b-a3b")).total());
  expect_exact("Qwen3-235B", count_parameters(hf("qwen3-235b-a22b.json")).total(),
               count_parameters(zoo("qwen3-235b-a22b")).total());
  expect_exact("BLOOM", 176'247'271'424, count_parameters(zoo("bloom-176b")).total());
}

TEST(Parameters, PartsOfGpt2) {
  const ParameterCount count = count_parameters(zoo("gpt2"));
  expect_exact("embedding", 50'257 * 768, count.embedding);
  expect_exact("position", 1024 * 768, count.position);
  expect_exact("layers", 12 * (12 * 768 * 768 + 13 * 768), count.layers);
  expect_exact("final norm", 2 * 768, count.final_norm);
  expect_exact("tied head", 0, count.head);
  EXPECT_EQ(count.total(), count.active());
}

TEST(Parameters, UntiedHeadAndNoPositionTableInLlama) {
  const ParameterCount count = count_parameters(zoo("llama3-8b"));
  expect_exact("head", 128'256LL * 4096, count.head);
  expect_exact("position", 0, count.position);
  expect_exact("final norm", 4096, count.final_norm);
}

TEST(Parameters, TensorsOfALlamaLayer) {
  const auto tensors = layer_tensors(zoo("llama3-8b"), 0);
  ASSERT_EQ(tensors.size(), 6U);  // no biases
  EXPECT_EQ(tensors[1].name, "qkv.weight");
  expect_exact("qkv rows", 4096 + 2 * 1024, tensors[1].rows);
  expect_exact("qkv cols", 4096, tensors[1].cols);
  EXPECT_EQ(tensors[4].name, "fc1.weight");
  expect_exact("gate and up rows", 2 * 14'336, tensors[4].rows);
}

TEST(Parameters, MlaLayerOfDeepseek) {
  const Model model = hf("deepseek-v3.json");
  std::int64_t attention = 0;
  for (const Tensor& t : layer_tensors(model, 0)) {
    const bool other = t.name.starts_with("norm") || t.name.starts_with("fc");
    if (!other) attention += t.count();
  }
  expect_exact("MLA with its two norms", 187'107'328, attention);
}

TEST(Parameters, ExpertLayersFollowTheDenseOnes) {
  const Model model = hf("deepseek-v3.json");
  EXPECT_FALSE(is_moe_layer(model, 2));
  EXPECT_TRUE(is_moe_layer(model, 3));
  const auto kinds = layer_kinds(model);
  ASSERT_EQ(kinds.size(), 2U);
  expect_exact("dense layers", 3, kinds[0].count);
  expect_exact("expert layers", 58, kinds[1].count);
}

TEST(Parameters, EveryOtherLayerHasExperts) {
  Model model = tiny_llama();
  model.moe = MoeShape{.experts = 4, .top_k = 1, .ffn = 128, .every = 2};
  const auto kinds = layer_kinds(model);
  ASSERT_EQ(kinds.size(), 2U);
  expect_exact("dense layers", 4, kinds[0].count);
  expect_exact("expert layers", 4, kinds[1].count);
  // Three more MLPs and a router in each of four layers.
  expect_exact("total", 328'768 + 4 * (3 * 3 * 64 * 128 + 4 * 64), count_parameters(model).total());
  expect_exact("active", 328'768 + 4 * (4 * 64), count_parameters(model).active());
}

// One module: two norms, the 2h -> h projection, an expert layer, a final norm.
TEST(Parameters, PredictionModulesStandApart) {
  const Model model = hf("deepseek-v3.json");
  std::int64_t layer = 0;
  for (const Tensor& t : layer_tensors(model, 60)) layer += t.count();
  expect_exact("mtp", layer + 2LL * 7168 * 7168 + 3 * 7168, count_parameters(model).mtp);
}

TEST(Parameters, PaddedVocabularyIsTheNextMultiple) {
  expect_exact("already a multiple", 51'200, padded_vocab(51'200, 1024));
  expect_exact("one over", 52'224, padded_vocab(51'201, 1024));
}

TEST(Parameters, StatedPaddingIsTheDefault) {
  Model model = zoo("gpt2");
  model.vocab_padded_to = 50'304;
  expect_exact("total", 124'475'904, count_parameters(model).total());
}

}  // namespace
}  // namespace windtunnel
