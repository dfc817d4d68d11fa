// Does every bad config.json end in an InputError that says what and where?

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/counter_random.h"
#include "core/diagnostics.h"
#include "models/architectures/hf_config.h"
#include "models/architectures/json_object.h"
#include "models/architectures/model_problems.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

std::vector<Diagnostic> errors_of(std::string_view text) {
  try {
    parse_hf_config(text, "config.json");
  } catch (const InputError& error) {
    return error.diagnostics;
  }
  return {};
}

/// Message of the only error.
std::string error_of(std::string_view text) {
  const auto errors = errors_of(text);
  EXPECT_EQ(errors.size(), 1U);
  return errors.empty() ? "none" : errors.front().message;
}

/// A complete Llama config with `field` set to `value`, or without it when `value` is empty.
std::string llama_with(const std::string& field, const std::string& value) {
  const std::pair<const char*, const char*> fields[] = {
      {"model_type", "\"llama\""},  {"num_hidden_layers", "4"},   {"hidden_size", "64"},
      {"intermediate_size", "128"}, {"num_attention_heads", "4"}, {"num_key_value_heads", "2"},
      {"vocab_size", "256"},        {"hidden_act", "\"silu\""}};
  std::string text = "{\n";
  for (const auto& [name, stated] : fields) {
    if (name == field) continue;
    text += "  \"" + std::string(name) + "\": " + stated + ",\n";
  }
  if (!value.empty()) text += "  \"" + field + "\": " + value + ",\n";
  return text + "  \"torch_dtype\": \"bfloat16\"\n}\n";
}

TEST(HfHostile, TheBaseIsGood) {
  EXPECT_EQ(parse_hf_config(llama_with("", ""), "config.json").hidden, 64);
}

TEST(HfHostile, UnknownTypeListsTheKnownOnes) {
  const auto errors = errors_of(llama_with("model_type", "\"mamba\""));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].message, "unknown `model_type` 'mamba'");
  EXPECT_NE(errors[0].hint.find("gpt2, llama, mistral"), std::string::npos);
  EXPECT_EQ(errors[0].position.line, 9);
  EXPECT_EQ(errors[0].position.column, 3);
}

TEST(HfHostile, TypeOfTheWrongKindOrMissing) {
  EXPECT_EQ(error_of("{}"), "field `model_type` is missing");
  EXPECT_EQ(error_of(R"({"model_type": null})"), "field `model_type` is missing");
  EXPECT_EQ(error_of(R"({"model_type": 7})"), "`model_type` is an integer, not a string");
  EXPECT_EQ(error_of(R"({"model_type": ["llama"]})"), "`model_type` is a list, not a string");
}

TEST(HfHostile, LongAndControlTextIsMadeSafe) {
  const std::string long_type = "\"a\\u001b" + std::string(5000, 'x') + "\"";
  const std::string message = error_of(llama_with("model_type", long_type));
  EXPECT_LT(message.size(), 120U);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(HfHostile, EveryMissingFieldIsNamed) {
  for (const std::string field : {"num_hidden_layers", "hidden_size", "intermediate_size",
                                  "num_attention_heads", "vocab_size"}) {
    EXPECT_EQ(error_of(llama_with(field, "")), "field `" + field + "` is missing");
  }
}

TEST(HfHostile, AllProblemsAtOnce) {
  EXPECT_EQ(errors_of(R"({"model_type": "llama", "hidden_size": -4})").size(), 5U);
}

TEST(HfHostile, WrongTypes) {
  EXPECT_EQ(error_of(llama_with("hidden_size", "\"64\"")),
            "`hidden_size` is a string, not an integer");
  EXPECT_EQ(error_of(llama_with("hidden_size", "64.5")),
            "`hidden_size` is a number that is no 64-bit integer, not an integer");
  EXPECT_EQ(error_of(llama_with("hidden_size", "{}")),
            "`hidden_size` is an object, not an integer");
  EXPECT_EQ(error_of(llama_with("tie_word_embeddings", "1")),
            "`tie_word_embeddings` is an integer, not true or false");
  EXPECT_EQ(error_of(llama_with("attention_dropout", "-0.1")),
            "`attention_dropout` is not a number from 0 to 1");
}

TEST(HfHostile, NumbersOutOfRange) {
  EXPECT_EQ(error_of(llama_with("num_hidden_layers", "-1")), "`num_hidden_layers` is -1");
  EXPECT_EQ(error_of(llama_with("num_hidden_layers", "0")), "`num_hidden_layers` is 0");
  EXPECT_EQ(error_of(llama_with("vocab_size", "9223372036854775807")),
            "`vocab_size` is 9223372036854775807");
  EXPECT_EQ(error_of(llama_with("vocab_size", "99999999999999999999")),
            "`vocab_size` is a number that is no 64-bit integer, not an integer");
  EXPECT_NE(error_of(llama_with("intermediate_size", "2147483647")).find("`ffn`"),
            std::string::npos);
}

TEST(HfHostile, SizesThatDoNotDivide) {
  EXPECT_NE(error_of(llama_with("num_key_value_heads", "3")).find("kv_heads"), std::string::npos);
  EXPECT_NE(error_of(llama_with("num_attention_heads", "6")).find("multiple"), std::string::npos);
}

TEST(HfHostile, CountThatWouldOverflow) {
  std::string text = R"({"model_type": "mixtral", "num_hidden_layers": 100000,
    "hidden_size": 16777216, "intermediate_size": 16777216, "num_attention_heads": 1,
    "num_key_value_heads": 1, "vocab_size": 2147483647, "num_local_experts": 1048576,
    "num_experts_per_tok": 2})";
  EXPECT_NE(error_of(text).find("parameters"), std::string::npos);
}

TEST(HfHostile, WhatIsNotModelledIsRefused) {
  EXPECT_NE(error_of(llama_with("attention_bias", "true")).find("not modelled"), std::string::npos);
  EXPECT_NE(error_of(llama_with("hidden_act", "\"relu\"")).find("not modelled"), std::string::npos);
}

// Bytes changed, cut out and doubled at random places: a model whose sizes hold, or an InputError.
TEST(HfHostile, MutatedConfigs) {
  constexpr std::uint64_t kSeed = 7;
  constexpr int kTexts = 20'000;
  int refused = 0;
  for (std::uint64_t i = 0; i < kTexts; ++i) {
    std::string text = llama_with("", "");
    for (std::uint64_t change = 0; change <= i % 4; ++change) {
      const std::uint64_t hash = counter_hash(kSeed, i, change);
      const std::size_t at = hash % text.size();
      const std::size_t length = 1 + (hash >> 32) % 12;
      switch ((hash >> 48) % 3) {
        case 0:
          text[at] = static_cast<char>(hash >> 56);
          break;
        case 1:
          text.erase(at, length);
          break;
        default:
          text.insert(at, text.substr(at, length));
          break;
      }
    }
    try {
      EXPECT_TRUE(model_problems(parse_hf_config(text, "config.json")).empty()) << text;
    } catch (const InputError& error) {
      EXPECT_FALSE(error.diagnostics.empty());
      ++refused;
    }
  }
  EXPECT_GT(refused, kTexts / 10);  // most mutations hit something
  EXPECT_LT(refused, kTexts);       // and some are harmless
}

// Thousands of keys in one very long line: columns stay right and the line is not echoed.
TEST(HfHostile, OneLongLine) {
  std::string text = "{";
  for (int i = 0; i < 9'000; ++i)
    text += "\"k" + std::to_string(i) + "\":\"" + std::string(500, 'x') + "\",";
  const std::size_t at = text.size();
  const auto errors = errors_of(text + R"("model_type":"mamba"})");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].position.column, static_cast<int>(at) + 1);
  EXPECT_EQ(errors[0].source_line, "");
}

class HfFile : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder(); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string load_error(const std::string& path) {
    try {
      load_hf_config(path);
    } catch (const InputError& error) {
      return error.diagnostics.front().message;
    }
    return "none";
  }

  std::filesystem::path folder_;
};

TEST_F(HfFile, MissingFolderAndDevice) {
  EXPECT_EQ(load_error(folder_ / "none.json"), "there is no such file");
  EXPECT_EQ(load_error(folder_), "this is a folder");
  EXPECT_EQ(load_error("/dev/zero"), "this is not a regular file");
}

TEST_F(HfFile, TooLargeIsRefusedUnread) {
  const auto path = folder_ / "large.json";
  std::ofstream(path) << "{";
  std::filesystem::resize_file(path, kMaxJsonBytes + 1);
  EXPECT_EQ(load_error(path), "16777217 bytes, more than the 16 MiB a config may have");
}

TEST_F(HfFile, EmptyIsNotJson) {
  const auto path = folder_ / "empty.json";
  std::ofstream{path};
  EXPECT_EQ(load_error(path), "this is not valid JSON here");
}

}  // namespace
}  // namespace windtunnel
