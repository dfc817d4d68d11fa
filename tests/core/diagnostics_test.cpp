#include "core/diagnostics.h"

#include <gtest/gtest.h>

#include "core/check.h"

namespace windtunnel {
namespace {

TEST(Diagnostics, FullFormHasPlaceLineCaretAndHint) {
  const Diagnostic d{.position = {.file = "a.yaml", .line = 3, .column = 7},
                     .message = "unknown key `tpp`",
                     .hint = "did you mean `tp`?",
                     .source_line = "plan: {tpp: 8}"};
  EXPECT_EQ(render(d),
            "a.yaml:3:7: error: unknown key `tpp`\n"
            "  plan: {tpp: 8}\n"
            "        ^\n"
            "  hint: did you mean `tp`?");
}

TEST(Diagnostics, TheCaretStandsUnderItsColumnAfterTabs) {
  const Diagnostic d{.position = {.file = "a.yaml", .line = 1, .column = 3},
                     .message = "m",
                     .hint = "",
                     .source_line = "\t\tx: 1"};
  EXPECT_EQ(render(d), "a.yaml:1:3: error: m\n  \t\tx: 1\n  \t\t^");
}

TEST(Diagnostics, ACaretBehindTheEndOfTheLineStaysAtItsEnd) {
  const Diagnostic d{.position = {.file = "a.yaml", .line = 1, .column = 40},
                     .message = "m",
                     .hint = "",
                     .source_line = "tp:"};
  EXPECT_EQ(render(d), "a.yaml:1:40: error: m\n  tp:\n     ^");
}

TEST(Diagnostics, WithoutALineOnlyTheFileIsNamed) {
  const Diagnostic d{
      .position = {.file = "a.yaml"}, .message = "is empty", .hint = "", .source_line = ""};
  EXPECT_EQ(render(d), "a.yaml: error: is empty");
}

TEST(Diagnostics, WithoutAFileThereIsOnlyTheMessage) {
  const Diagnostic d{
      .position = {}, .message = "no verb", .hint = "try `check`", .source_line = ""};
  EXPECT_EQ(render(d), "error: no verb\n  hint: try `check`");
}

TEST(Diagnostics, AnInputErrorCarriesAllOfThemInOrder) {
  const InputError error({{.position = {.file = "a.yaml", .line = 1, .column = 1},
                           .message = "first",
                           .hint = "",
                           .source_line = ""},
                          {.position = {.file = "a.yaml", .line = 2, .column = 1},
                           .message = "second",
                           .hint = "",
                           .source_line = ""}});
  EXPECT_EQ(error.diagnostics.size(), 2U);
  EXPECT_STREQ(error.what(), "a.yaml:1:1: error: first\na.yaml:2:1: error: second");
}

TEST(Check, AFailureNamesThePlaceTheReasonAndTheCondition) {
  const int stage = -1;
  try {
    CHECK(stage >= 0, "stages start at 0");
    FAIL() << "the check did not fail";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("diagnostics_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("stages start at 0 (stage >= 0)"), std::string::npos) << text;
  }
}

TEST(Check, AConditionThatHoldsDoesNothing) {
  EXPECT_NO_THROW(CHECK(true, "never"));
}

}  // namespace
}  // namespace windtunnel
