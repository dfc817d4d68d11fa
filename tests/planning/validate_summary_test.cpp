#include "planning/validate_summary.h"

#include <gtest/gtest.h>

#include "tests/planning/validation_rows.h"

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-12;  // a few roundings of doubles near 1

ValidationSummary overall(const std::vector<ValidationRow>& rows) {
  return summarize(rows).overall;
}

TEST(Summary, CountsEveryCellOfTheOomMatrix) {
  std::vector<ValidationRow> rows = {
      oom_row(true, true),  oom_row(true, true),   oom_row(true, true),   oom_row(true, false),
      oom_row(false, true), oom_row(false, false), oom_row(false, false), timed_row(1.0, 1.0)};
  const OomMatrix oom = overall(rows).oom;
  EXPECT_EQ(oom.true_positive, 3);
  EXPECT_EQ(oom.false_negative, 1);
  EXPECT_EQ(oom.false_positive, 1);
  EXPECT_EQ(oom.true_negative, 3) << "a step time says that it did not run out";
  EXPECT_DOUBLE_EQ(*oom.recall(), 0.75);
  EXPECT_DOUBLE_EQ(*oom.specificity(), 0.75);
}

TEST(Summary, RowsWhoseMemoryIsAssumedStayOutOfTheMatrix) {
  ValidationRow assumed = oom_row(true, false);
  assumed.assumed = {"recompute"};
  ValidationRow silent = oom_row(true, true);
  silent.measured->oom.reset();
  const OomMatrix oom = overall({assumed, silent}).oom;
  EXPECT_EQ(oom.true_positive + oom.false_positive + oom.true_negative + oom.false_negative, 0);
  EXPECT_FALSE(oom.recall() || oom.specificity());
}

TEST(Summary, CoverageAndHalfWidthOfIntervals) {
  // Intervals are +- 10 % of the prediction: 0.9..1.1 and 1.8..2.2.
  const ValidationSummary s =
      overall({timed_row(1.0, 1.0), timed_row(1.2, 1.0), timed_row(2.0, 2.0), timed_row(2.1, 2.0)});
  EXPECT_DOUBLE_EQ(*s.interval_coverage, 0.75);
  EXPECT_NEAR(*s.interval_half_width, 0.1, kRounding);
}

TEST(Summary, RefusedRowsAreCountedAndScoredNowhere) {
  ValidationRow refused = timed_row(1.0, 1.0);
  refused.predicted.reset();
  refused.step_time_error.reset();
  refused.interval_holds.reset();
  const ValidationSummary s = overall({refused, timed_row(1.0, 1.5)});
  EXPECT_EQ(s.rows, 2);
  EXPECT_EQ(s.refused, 1);
  EXPECT_EQ(s.step_time.n, 1);
  EXPECT_DOUBLE_EQ(*s.step_time.mape, 0.5);
}

TEST(Summary, GroupsAreRankedAmongTheRowsOfTheSummary) {
  std::vector<ValidationRow> rows = {timed_row(1.0, 1.0), timed_row(2.0, 2.0), timed_row(3.0, 2.5),
                                     timed_row(9.0, 1.0)};
  for (ValidationRow& row : rows) row.group = "g";
  rows[2].source = "t";
  rows[3].group = "";  // ranked against nothing
  const ValidationSummaries s = summarize(rows);
  EXPECT_EQ(s.overall.ranking.groups, 1);
  EXPECT_DOUBLE_EQ(*s.overall.ranking.kendall_tau, 1.0);
  ASSERT_EQ(s.sources.size(), 2U);
  EXPECT_EQ(s.sources[0].first, "s");
  EXPECT_EQ(s.sources[0].second.rows, 3);
  EXPECT_EQ(s.sources[0].second.ranking.groups, 1);
  EXPECT_EQ(s.sources[1].first, "t");
  EXPECT_EQ(s.sources[1].second.ranking.groups, 0) << "one row of the group is no choice";
}

TEST(Summary, OfNoRowsSaysNothing) {
  const ValidationSummaries s = summarize(std::vector<ValidationRow>{});
  EXPECT_EQ(s.overall.rows, 0);
  EXPECT_FALSE(s.overall.interval_coverage || s.overall.interval_half_width);
  EXPECT_TRUE(s.sources.empty());
}

}  // namespace
}  // namespace windtunnel
