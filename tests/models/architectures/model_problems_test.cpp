// Are sizes that cannot be a model found, each by the name of its field?

#include "models/architectures/model_problems.h"

#include <gtest/gtest.h>

#include <limits>

#include "models/architectures/model_features.h"
#include "models/architectures/zoo.h"

namespace windtunnel {
namespace {

/// The field of the first problem, "none" when there is none.
std::string first_field(const Model& model) {
  const auto problems = model_problems(model);
  return problems.empty() ? "none" : problems.front().field;
}

template <class Change>
Model llama_with(Change change) {
  Model model = zoo_model("llama3-8b").value();
  change(model);
  return model;
}

TEST(ModelProblems, RangesByName) {
  EXPECT_EQ(first_field(zoo_model("llama3-8b").value()), "none");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.layers = 0; })), "layers");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.hidden = -1; })), "hidden");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.ffn = kMaxWidth + 1; })), "ffn");
  EXPECT_EQ(
      first_field(llama_with([](Model& m) { m.vocab = std::numeric_limits<std::int64_t>::max(); })),
      "vocab");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.vocab_padded_to = 100; })), "vocab_padded_to");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.sliding_window = 0; })), "sliding_window");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.layer_pattern = {LayerAttention::local}; })),
            "layer_pattern");
  EXPECT_EQ(first_field(llama_with([](Model& m) {
              m.layer_pattern = {LayerAttention::local, LayerAttention::full};
              m.sliding_window = 4;
            })),
            "none");
}

TEST(ModelProblems, AllRangesAtOnce) {
  const Model model = llama_with([](Model& m) { m.layers = m.hidden = m.ffn = 0; });
  EXPECT_EQ(model_problems(model).size(), 3U);
}

TEST(ModelProblems, HeadsDivide) {
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.kv_heads = 5; })), "kv_heads");
  EXPECT_EQ(first_field(llama_with([](Model& m) { m.kv_heads = 64; })), "kv_heads");
}

TEST(ModelProblems, Experts) {
  const MoeShape good{.experts = 8, .top_k = 2, .ffn = 14'336};
  EXPECT_EQ(first_field(llama_with([&](Model& m) { m.moe = good; })), "none");
  EXPECT_EQ(first_field(llama_with([&](Model& m) {
              m.moe = good;
              m.moe->top_k = 9;
            })),
            "moe.top_k");
  EXPECT_EQ(first_field(llama_with([&](Model& m) {
              m.moe = good;
              m.moe->dense_layers = 33;
            })),
            "moe.dense_layers");
  EXPECT_EQ(first_field(llama_with([&](Model& m) {
              m.moe = good;
              m.moe->every = 0;
            })),
            "moe.every");
}

// Every field within its range, the product far beyond 64 bits.
TEST(ModelProblems, CountThatWouldOverflow) {
  const Model model = llama_with([](Model& m) {
    m.layers = kMaxLayers;
    m.hidden = m.ffn = m.head_dim = kMaxWidth;
    m.heads = m.kv_heads = kMaxHeads;
    m.vocab = kMaxRows;
    m.moe = MoeShape{.experts = kMaxExperts, .top_k = 1, .ffn = kMaxWidth};
  });
  const auto problems = model_problems(model);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].message.find("parameters"), std::string::npos);
}

TEST(ModelFeatures, NamesWhatALoweringMustKnow) {
  EXPECT_TRUE(features_beyond_dense(zoo_model("bloom-176b").value()).empty());
  const Model model = llama_with([](Model& m) {
    m.moe = MoeShape{};
    m.qk_norm = true;
    m.sliding_window = 4096;
  });
  EXPECT_EQ(features_beyond_dense(model),
            (std::vector<std::string>{"moe", "sliding_window", "qk_norm"}));
}

}  // namespace
}  // namespace windtunnel
