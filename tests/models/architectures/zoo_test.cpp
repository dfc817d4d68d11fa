// Does every model of the zoo read, and does it say what was published?

#include "models/architectures/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "models/architectures/model_features.h"
#include "models/architectures/model_problems.h"
#include "models/architectures/parameters.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel {
namespace {

TEST(Zoo, EveryModelReads) {
  const auto names = zoo_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string& name : names) {
    const auto model = zoo_model(name);
    ASSERT_TRUE(model) << name;
    EXPECT_EQ(model->name, name);
    EXPECT_TRUE(model_problems(*model).empty()) << name;
    // What a model has beyond dense layers stands in its file.
    EXPECT_EQ(features_beyond_dense(*model).empty(), !model->moe && !model->mla) << name;
  }
}

TEST(Zoo, EveryFileIsCompiledIn) {
  std::set<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(WINDTUNNEL_SOURCE_DIR "/models/architectures/zoo")) {
    files.insert(entry.path().stem().string());
  }
  const auto names = zoo_names();
  EXPECT_EQ(files, std::set<std::string>(names.begin(), names.end()));
}

TEST(Zoo, UnknownNameIsNoModel) {
  EXPECT_FALSE(zoo_model("gpt5"));
  EXPECT_FALSE(zoo_model(""));
  EXPECT_FALSE(zoo_model("GPT2"));
}

// The names carry the size: each is its count in billions within the rounding of the name.
TEST(Zoo, SizesAgreeWithTheNames) {
  constexpr double kRounding = 0.055;  // "1t" is 1008 B, "7b" is 6.74 B, "70b" 68.98 B
  const std::pair<const char*, double> sizes[] = {
      {"gpt-22b", 22e9},     {"gpt-530b", 530e9},  {"gpt-1t", 1e12},      {"gpt3-175b", 175e9},
      {"bloom-176b", 176e9}, {"llama2-7b", 7e9},   {"llama2-13b", 13e9},  {"llama2-70b", 70e9},
      {"llama3-8b", 8e9},    {"llama3-70b", 70e9}, {"llama3-405b", 405e9}};
  for (const auto& [name, size] : sizes) {
    expect_relative(name, size,
                    static_cast<double>(count_parameters(zoo_model(name).value()).total()),
                    kRounding);
  }
}

TEST(Zoo, Gpt3HasThePublishedVocabulary) {
  EXPECT_EQ(zoo_model("gpt3-175b")->vocab, 50'257);
}

TEST(Zoo, LlamaGroupsItsQueries) {
  const Model model = zoo_model("llama3-70b").value();
  EXPECT_EQ(model.heads, 64);
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_TRUE(model.gated());
  EXPECT_FALSE(model.bias);
}

}  // namespace
}  // namespace windtunnel
