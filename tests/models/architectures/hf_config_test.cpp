// Does a published config.json give the model whose size was published with it?

#include "models/architectures/hf_config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "models/architectures/attention_window.h"
#include "models/architectures/hf_families.h"
#include "models/architectures/parameters.h"
#include "models/architectures/zoo.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel {
namespace {

Model hf(const std::string& name) {
  return load_hf_config(WINDTUNNEL_SOURCE_DIR "/tests/models/architectures/data/" + name + ".json");
}

struct Published {
  const char* name;
  std::int64_t total, active;
};

class HfPublished : public testing::TestWithParam<Published> {};

TEST_P(HfPublished, Parameters) {
  const ParameterCount count = count_parameters(hf(GetParam().name));
  expect_exact(GetParam().name, GetParam().total, count.total());
  expect_exact("active", GetParam().active, count.active());
}

// Totals as counted from the published weights.
INSTANTIATE_TEST_SUITE_P(
    Configs, HfPublished,
    testing::Values(Published{"gpt2", 124'439'808, 124'439'808},
                    Published{"bloom", 176'247'271'424, 176'247'271'424},
                    Published{"llama-3.1-8b", 8'030'261'248, 8'030'261'248},
                    Published{"llama-3.1-70b", 70'553'706'496, 70'553'706'496},
                    Published{"llama-3.1-405b", 405'853'388'800, 405'853'388'800},
                    Published{"mistral-7b", 7'241'732'096, 7'241'732'096},
                    Published{"mixtral-8x7b", 46'702'792'704, 12'879'925'248},
                    Published{"qwen2-7b", 7'615'616'512, 7'615'616'512},
                    Published{"qwen3-8b", 8'190'735'360, 8'190'735'360},
                    Published{"qwen3-14b", 14'768'307'200, 14'768'307'200},
                    Published{"qwen3-32b", 32'762'123'264, 32'762'123'264},
                    Published{"qwen3-30b-a3b", 30'532'122'624, 3'353'032'704},
                    Published{"qwen3-235b-a22b", 235'093'634'560, 22'190'763'520},
                    Published{"deepseek-v3", 671'026'419'200, 37'552'282'624}),
    [](const auto& row) {
      std::string name = row.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(HfConfig, Gpt2IsTheZoosGpt2) {
  const Model read = hf("gpt2");
  const Model zoo = zoo_model("gpt2").value();
  EXPECT_EQ(read.layers, zoo.layers);
  EXPECT_EQ(read.ffn, zoo.ffn);
  EXPECT_EQ(read.max_positions, zoo.max_positions);
  EXPECT_EQ(read.position, zoo.position);
  EXPECT_EQ(read.tied_embeddings, zoo.tied_embeddings);
  EXPECT_EQ(read.dropout, zoo.dropout);
  EXPECT_EQ(read.bias, zoo.bias);
}

TEST(HfConfig, BloomHasAlibiAndAnEmbeddingNorm) {
  const Model model = hf("bloom");
  EXPECT_EQ(model.position, PositionKind::alibi);
  EXPECT_TRUE(model.embedding_norm);
  EXPECT_FALSE(model.dropout);
}

TEST(HfConfig, NullCountsAsAbsent) {
  EXPECT_EQ(hf("mixtral-8x7b").sliding_window, std::nullopt);
  EXPECT_EQ(hf("mistral-7b").sliding_window, 4096);
}

TEST(HfConfig, QwensWindowIsOfTheLastLayers) {
  std::ifstream file(WINDTUNNEL_SOURCE_DIR "/tests/models/architectures/data/qwen2-7b.json");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(parse_hf_config(text, "config.json").sliding_window, std::nullopt);  // switched off
  const std::string off = "\"use_sliding_window\": false";
  text.replace(text.find(off), off.size(), "\"use_sliding_window\": true");
  const std::string layers = "\"max_window_layers\": 28";
  text.replace(text.find(layers), layers.size(), "\"max_window_layers\": 26");
  const Model model = parse_hf_config(text, "config.json");
  EXPECT_EQ(model.sliding_window, 131072);
  EXPECT_EQ(attention_window(model, 25, 200'000), 0);
  EXPECT_EQ(attention_window(model, 26, 200'000), 131072);
  EXPECT_EQ(attention_window(model, 26, 131072), 0);  // as long as the sequence
}

TEST(HfConfig, NameComesFromTheFileWhenItHasOne) {
  EXPECT_EQ(hf("llama-3.1-8b").name, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(hf("mixtral-8x7b").name, "mixtral");
}

TEST(HfConfig, DeepseekShapes) {
  const Model model = hf("deepseek-v3");
  ASSERT_TRUE(model.mla && model.moe);
  EXPECT_EQ(model.moe->dense_layers, 3);
  EXPECT_EQ(model.moe->shared_experts, 1);
  EXPECT_TRUE(model.moe->router_bias);
  EXPECT_EQ(model.mtp_layers, 1);
  EXPECT_EQ(model.mla->q_lora_rank, 1536);
}

TEST(HfConfig, FamiliesAreInOrder) {
  const auto families = hf_families();
  for (std::size_t i = 1; i < families.size(); ++i) {
    EXPECT_LT(std::string_view(families[i - 1].model_type), families[i].model_type);
  }
}

}  // namespace
}  // namespace windtunnel
