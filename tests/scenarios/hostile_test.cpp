// Input that is built to break a reader: one clear error, and no walk of what it would expand to.

#include <gtest/gtest.h>

#include "scenarios/problem_list.h"
#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

void expect_one_error(const std::string& text, const std::string& part) {
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].message.find(part), std::string::npos)
      << "expected: " << part << "\ngot: " << errors[0].message;
}

TEST(Hostile, AliasBomb) {
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'k'; ++c) {
    const std::string up = std::string("*") + static_cast<char>(c - 1);
    text += std::string(1, c) + ": &" + c + " [" + up + repeated(", " + up, 9) + "]\n";
  }
  expect_one_error(text, "more than 2000000 values, aliases followed");
}

TEST(Hostile, AliasOfItself) {
  expect_one_error("model: &m {layers: *m}\n", "inside the value it stands for");
}

TEST(Hostile, DeepFlow) {
  expect_one_error("a: " + std::string(20000, '[') + std::string(20000, ']'),
                   "nested more than 64 deep");
}

TEST(Hostile, DeepBlock) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  expect_one_error(text, "nested more than 64 deep");
}

TEST(Hostile, LookaheadIsBounded) {
  // A flow list that may yet turn out to be a key: the scanner would hold all of its tokens.
  expect_one_error("[" + repeated("[],", 1'000'000), "no value ends within 256 KiB");
  expect_one_error("a: \"" + std::string(1'000'000, 'x'), "no value ends within 256 KiB");
}

TEST(Hostile, ControlCharacters) {
  using namespace std::string_literals;
  expect_one_error("model: gpt2\0\n"s, "control character U+0000");
  expect_one_error("model: gpt2\x04\nplan: x\n", "control character U+0004");
  expect_one_error("model: \"a\\0b\"\n", "the text holds a control character U+0000");
  expect_one_error("model: \xC2\x9B\n", "control character U+009B");
}

TEST(Hostile, NotUtf8) {
  expect_one_error("model: \xFF\n", "byte 0xFF is not valid UTF-8");
  expect_one_error("model: \xC0\xAF\n", "byte 0xC0 is not valid UTF-8");          // overlong
  expect_one_error("model: \xED\xA0\x80\n", "byte 0xED is not valid UTF-8");      // surrogate
  expect_one_error("model: \xF4\x90\x80\x80\n", "byte 0xF4 is not valid UTF-8");  // past U+10FFFF
  expect_one_error("model: \xE2\x82", "byte 0xE2 is not valid UTF-8");            // cut short
}

TEST(Hostile, TooManyErrorsStopTheReading) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), ProblemList::kMostKept + 1);
  EXPECT_EQ(errors.back().message, "too many errors; reading stopped here");
}

TEST(Hostile, DefaultsTimesEntriesAreBounded) {
  std::string text = "defaults: {plan: {";
  for (int i = 0; i < 2000; ++i) text += "k" + std::to_string(i) + ": 1, ";
  text += "tp: 1}}\nscenarios:\n" + repeated("- {id: a, plan: {tp: 1}}\n", 5000);
  expect_one_error(text, "more than 2000000 values with `defaults` filled in");
}

TEST(Hostile, LongLinesAreCutAroundTheCaret) {
  const std::string text =
      "stack: {framework: " + std::string(100'000, 'x') + ", date: [1]}\n" + tiny_scenario("{}");
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_LT(errors[0].source_line.size(), 200U);
  const std::string rendered = render(errors[0]);
  const std::size_t line = rendered.find('\n') + 1;
  const std::size_t caret = rendered.find('\n', line) + 1;
  EXPECT_EQ(rendered[line + rendered.find('^') - caret], '[') << rendered;
}

TEST(Hostile, ReadersTakeAnyKindOfValue) {
  // Every key of the format with every kind of value: errors, never a crash.
  for (const char* value : {"", "[]", "{}", "[[]]", "[{}]", "{a: b}", "-1", "1e999", "~", "\"\""}) {
    for (const char* key : {"id",
                            "assumed",
                            "stack",
                            "model",
                            "cluster",
                            "profile",
                            "batch",
                            "plan",
                            "allocator",
                            "data",
                            "measured",
                            "workload",
                            "sweep",
                            "run",
                            "scenarios",
                            "defaults",
                            "plan: {order",
                            "plan: {lora",
                            "plan: {schedule: {layers_per_stage",
                            "plan: {recompute: {layers",
                            "cluster: {device",
                            "cluster: {degraded",
                            "cluster: {unit",
                            "cluster: {network",
                            "model: {moe",
                            "measured: {step_time_range"}) {
      std::string text = std::string(key) + ": " + value;
      for (const char c : std::string(key)) text += c == '{' ? "}" : "";
      EXPECT_FALSE(errors_of(text + "\n").empty()) << text;
    }
  }
}

}  // namespace
}  // namespace windtunnel
