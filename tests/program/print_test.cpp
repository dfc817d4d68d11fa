// Did the printed form of a program change? Golden texts: replace them by the test's `actual` file
// when a change is meant.

#include "program/print.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "program/schedule_grid.h"
#include "program/text_table.h"
#include "tests/program/small_programs.h"
#include "tests/program/two_stages.h"

namespace windtunnel {
namespace {

void expect_golden(const std::string& text, const std::string& name) {
  std::ifstream file(std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/program/golden/" + name);
  std::ostringstream golden;
  golden << file.rdbuf();
  if (text != golden.str()) {
    const std::string actual = testing::TempDir() + name + ".actual";
    std::ofstream(actual) << text;
    FAIL() << name << " differs from " << actual << ":\n" << text;
  }
}

TEST(Print, Program) {
  expect_golden(print_program(two_stages()), "two_stages.txt");
}

TEST(Print, Ops) {
  expect_golden(print_ops(two_stages(), 3), "two_stages_rank3.txt");
}

TEST(Print, StagesThatCommunicateAlikeShareTheirRows) {
  const std::string text = print_program(small_program("1f1b"));
  EXPECT_NE(text.find("\n    1-2  dp  "), std::string::npos) << text;
  EXPECT_NE(text.find("\n    1-2  send      the next        pp_fwd"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    1-2  send      the one before  pp_bwd"), std::string::npos) << text;
}

TEST(Print, SameProgramSameText) {
  EXPECT_EQ(print_ops(small_program("overlapped"), 5), print_ops(small_program("overlapped"), 5));
}

TEST(Grid, OneForwardOneBackward) {
  EXPECT_EQ(schedule_grid(small_program("1f1b"), {.forward = 1, .backward = 1}),
            "rank 0   0a 1a 2a 3a  .  .  . 0A  . 1A  . 2A  . 3A\n"
            "rank 1    . 0a 1a 2a  .  . 0A 3a 1A  . 2A  . 3A  .\n"
            "rank 2    .  . 0a 1a  . 0A 2a 1A 3a 2A  . 3A  .  .\n"
            "rank 3    .  .  . 0a 0A 1a 1A 2a 2A 3a 3A  .  .  .\n");
}

TEST(Grid, IsCutAtItsColumns) {
  EXPECT_EQ(schedule_grid(small_program("gpipe"), {.forward = 1, .backward = 2}, 9),
            "rank 0   0a 1a 2a 3a  .  .  .  .  . ...\n"
            "rank 1    . 0a 1a 2a 3a  .  .  .  . ...\n"
            "rank 2    .  . 0a 1a 2a 3a  .  .  . ...\n"
            "rank 3    .  .  . 0a 1a 2a 3a 0A == ...\n");
}

TEST(Grid, SpanOfGpipeIsTheClosedForm) {
  // (m + p - 1)(F + B) with m = p = 4, F = 1, B = 2 (GPipe, 1811.06965 section 2.3).
  int end = 0;
  for (const std::vector<GridPass>& row : schedule_passes(small_program("gpipe"))) {
    ASSERT_EQ(row.size(), 8u);
    end = std::max(end, row.back().end);
  }
  EXPECT_EQ(end, 21);
}

TEST(Grid, ChunksWithoutLayersPassTheirInputOn) {
  const std::vector<std::vector<GridPass>> rows = schedule_passes(small_program("zero_layers"));
  EXPECT_EQ(rows.at(1).size(), 0u);
  EXPECT_EQ(rows.at(2).at(0).begin, 1);
}

TEST(TextTable, AlignsNumbersRightAndWordsLeft) {
  TextTable table({"name", "count"});
  table.add({"a", "7"});
  table.add({"longer", "1,024"});
  EXPECT_EQ(table.text(),
            "  name    count\n"
            "  a           7\n"
            "  longer  1,024\n");
}

}  // namespace
}  // namespace windtunnel
