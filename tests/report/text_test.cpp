#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "report/memory_text.h"
#include "report/stage_rows.h"
#include "report/step_text.h"
#include "report/text_layout.h"
#include "report/time_text.h"
#include "tests/report/sample_report.h"

namespace windtunnel {
namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width_of(line));
  return widest;
}

TEST(ReportTable, ColumnsAreAsWideAsTheirWidestCell) {
  const ReportTable table{.columns = {{"name", Align::left}, {"n"}},
                          .rows = {{"a", "1"}, {"longer", "22"}, {"x"}}};
  EXPECT_EQ(render_table(table, "  "),
            "  name     n\n"
            "  a        1\n"
            "  longer  22\n"
            "  x\n");
}

TEST(ReportTable, ATableWithoutHeadsHasNoHeadLine) {
  EXPECT_EQ(render_table({.columns = {{""}, {""}}, .rows = {{"1", "2"}}}, ""), "1  2\n");
}

TEST(ReportTable, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(width_of("\u00b5s"), 2U);
  EXPECT_EQ(render_table({.columns = {{""}, {""}}, .rows = {{"\u00b5", "1"}, {"aa", "2"}}}, ""),
            " \u00b5  1\naa  2\n");
}

TEST(WrapText, LinesHangUnderTheFirst) {
  const std::string text(100, 'x');
  EXPECT_EQ(wrap_text("one two", "  - "), "  - one two\n");
  EXPECT_EQ(wrap_text("one " + text + " two", "  - "), "  - one\n    " + text + "\n    two\n");
  EXPECT_EQ(wrap_text("", "  - "), "  -\n");
}

TEST(WrapText, ALineIsFilledToItsLastColumn) {
  const std::string word(39, 'x');
  EXPECT_EQ(wrap_text(word + " " + word + "y", ""), word + " " + word + "y\n");
  EXPECT_EQ(wrap_text(word + " " + word + "yz", ""), word + "\n" + word + "yz\n");
}

TEST(StageRows, EqualNeighboursBecomeOneRow) {
  const auto rows = fold_stage_rows({{.stage = 0, .cells = {"a"}},
                                     {.stage = 1, .cells = {"b"}},
                                     {.stage = 2, .cells = {"b"}},
                                     {.stage = 3, .cells = {"b"}, .marked = true},
                                     {.stage = 4, .cells = {"b"}}});
  const std::vector<std::vector<std::string>> expected = {
      {"0", "a"}, {"1-2", "b"}, {"3*", "b"}, {"4", "b"}};
  EXPECT_EQ(rows, expected);
}

TEST(StageRows, ALongTableKeepsItsEndsAndItsMark) {
  std::vector<StageRow> stages;
  for (int i = 0; i < 64; ++i) {
    stages.push_back({.stage = i, .cells = {std::to_string(i)}, .marked = i == 30});
  }
  std::vector<std::string> labels;
  for (const auto& row : fold_stage_rows(stages)) labels.push_back(row.front());
  const std::vector<std::string> expected = {"0",   "1",  "2",  "3",  "4",  "...", "30*",
                                             "...", "59", "60", "61", "62", "63"};
  EXPECT_EQ(labels, expected);
}

TEST(StepText, FitsEightyColumns) {
  EXPECT_LE(widest_line(step_text(sample_report())), kTextWidth);
}

TEST(StepText, SaysEverythingOnOneScreen) {
  const std::string text = step_text(sample_report());
  for (const char* expected :
       {"13.75 s", "90 % interval 13.10 to 14.40 s", "9,533 tokens/s", "MFU 51.8 %", "HFU 52.1 %",
        "megatron_unhalved", "bottleneck", "lever", "174.6 B parameters", "gpt3-175b",
        "8 nodes of 8 a100-sxm-80gb", "tp 8, pp 8", "megatron-lm 2022", "fits: stage 0",
        "backward, micro-batch 7", "one HDR adapter", "83 % of its time", "41 % of the interval"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " is not in\n" << text;
  }
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 50);
}

TEST(StepText, Golden) {
  std::ifstream file(std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/report/step_text.golden");
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(step_text(sample_report()), golden.str());
}

TEST(StepText, WithoutDrawsThereIsNoInterval) {
  StepReport report = sample_report();
  report.step_time_interval_s = {};
  EXPECT_EQ(step_text(report).find("interval 0"), std::string::npos);
  EXPECT_EQ(step_time_text(report).find("90 %"), std::string::npos);
}

TEST(StepText, SaysWhatIsSlowAndHowStepsSpread) {
  StepReport report = sample_report();
  EXPECT_EQ(step_text(report).find("Slow parts"), std::string::npos);
  report.step_time_percentiles_s = {.p50 = 13.8, .p90 = 14.0, .p99 = 14.5, .steps = 201};
  report.degraded = {"rank 3 computes 1.5 times as long"};
  report.step_time_sound_s = 11.0;
  const std::string text = step_text(report);
  EXPECT_NE(text.find("noise: p50 13.80, p90 14.00, p99 14.50 s of 201 steps"), std::string::npos);
  EXPECT_NE(text.find("Slow parts\n  - rank 3 computes 1.5 times as long\n  - without them the "
                      "step takes 11 s: they add 25.0 %"),
            std::string::npos)
      << text;
  EXPECT_LE(widest_line(text), 80U);
}

TEST(VerdictText, WhatDoesNotFitSaysHowMuchAndWhatBreaks) {
  MemoryAnswer memory = sample_report().memory;
  memory.verdict = Verdict::oom;
  memory.oom_probability = 0.9999;
  memory.capacity_bytes = std::int64_t{49} << 30;
  memory.breaking = "logits (1.5 GiB) in forward, micro-batch 0";
  const std::string text = verdict_text(memory);
  EXPECT_NE(text.find("does not fit: stage 0 needs 59 GiB of 49 GiB (10 GiB too much)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("above 99.9 %"), std::string::npos) << text;
  EXPECT_NE(text.find("breaks at  logits"), std::string::npos) << text;
}

TEST(StageMemoryText, ColumnsOfInsideTheAllocatorAddUpToAllocated) {
  const std::string text = stage_memory_text(sample_report().memory);
  // weights 5, grads 4, optimizer 30, activations 16, other 1: 56 GiB allocated.
  EXPECT_NE(text.find("0*      5.0    4.0       30.0    16.0    1.0       56.0      58.0    59.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1-3"), std::string::npos) << text;
}

TEST(CheckText, HasNoTimes) {
  const std::string text = check_text(sample_report());
  EXPECT_EQ(text.find("step_time"), std::string::npos);
  EXPECT_NE(text.find("fits: stage 0"), std::string::npos);
}

TEST(BreakdownText, AnEmptyStepHasNone) {
  EXPECT_EQ(breakdown_text({}), "");
  EXPECT_EQ(bottleneck_text({}), "");
  EXPECT_EQ(stage_times_text({}), "");
}

}  // namespace
}  // namespace windtunnel
