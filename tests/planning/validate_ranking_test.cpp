#include "planning/validate_ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace windtunnel {
namespace {

RankedRun run(double measured, double predicted) {
  return {.measured_s = measured, .predicted_s = predicted};
}

RankedRun ran_out(double predicted) {
  return {.measured_s = std::nullopt, .predicted_s = predicted};
}

TEST(KendallTau, OneForTheRightOrderMinusOneForTheReverse) {
  EXPECT_DOUBLE_EQ(*rank_group(std::vector{run(1, 10), run(2, 20), run(3, 30)}).kendall_tau, 1.0);
  EXPECT_DOUBLE_EQ(*rank_group(std::vector{run(1, 30), run(2, 20), run(3, 10)}).kendall_tau, -1.0);
}

TEST(KendallTau, ByHand) {
  // Pairs 12, 13, 14, 23, 24, 34; only 23 is swapped: (5 - 1) / 6.
  const std::vector runs = {run(1, 1), run(2, 3), run(3, 2), run(4, 4)};
  EXPECT_DOUBLE_EQ(*rank_group(runs).kendall_tau, 4.0 / 6.0);
}

TEST(KendallTau, PairsWithinTheSpreadAreTies) {
  // 1.00 and 1.04 tie; against 2.0 both are in order.
  const std::vector runs = {run(1.00, 2), run(1.04, 1), run(2.0, 3)};
  EXPECT_DOUBLE_EQ(*rank_group(runs).kendall_tau, 1.0);
}

TEST(KendallTau, ASpreadOfTheRowReplacesTheFivePercent) {
  std::vector runs = {run(1.00, 2), run(1.04, 1)};
  EXPECT_FALSE(rank_group(runs).kendall_tau);
  for (RankedRun& r : runs) r.spread = 0.01;
  EXPECT_DOUBLE_EQ(*rank_group(runs).kendall_tau, -1.0);
  runs[0].spread = 0.05;  // the wider of the two decides
  EXPECT_FALSE(rank_group(runs).kendall_tau);
}

TEST(KendallTau, EqualTimesAreATieWhateverTheSpread) {
  std::vector runs = {run(1.00, 2), run(1.00, 1)};
  for (RankedRun& r : runs) r.spread = 0.0;
  EXPECT_FALSE(rank_group(runs).kendall_tau);
}

TEST(KendallTau, APairThePredictionDoesNotTellApartCountsBelowOnly) {
  const std::vector runs = {run(1, 5), run(2, 5), run(3, 6)};
  EXPECT_DOUBLE_EQ(*rank_group(runs).kendall_tau, 2.0 / 3.0);
}

TEST(KendallTau, OutOfMemoryIsSlowerThanEverything) {
  // Measured: b ran out. Predicted: a 9 s, b fits and is faster: wrong.
  EXPECT_DOUBLE_EQ(*rank_group(std::vector{run(10, 9), ran_out(5)}).kendall_tau, -1.0);
  std::vector runs = {run(10, 9), ran_out(5)};
  runs[1].predicted_oom = true;
  EXPECT_DOUBLE_EQ(*rank_group(runs).kendall_tau, 1.0);
}

TEST(KendallTau, TwoThatRanOutAreATie) {
  EXPECT_FALSE(rank_group(std::vector{ran_out(1), ran_out(2)}).kendall_tau);
}

TEST(Regret, IsWhatThePredictedBestCostsOverTheBest) {
  const std::vector runs = {run(10, 3), run(12, 1), run(15, 2)};
  EXPECT_DOUBLE_EQ(*rank_group(runs).regret, 0.2);
}

TEST(Regret, IsZeroWhenTheBestIsPicked) {
  EXPECT_DOUBLE_EQ(*rank_group(std::vector{run(10, 1), run(12, 2)}).regret, 0.0);
}

TEST(Regret, IsInfiniteWhenTheChoiceRanOut) {
  EXPECT_TRUE(std::isinf(*rank_group(std::vector{run(10, 3), ran_out(1)}).regret));
}

TEST(Regret, ARunPredictedToRunOutIsNotChosen) {
  std::vector runs = {run(10, 3), ran_out(1)};
  runs[1].predicted_oom = true;
  EXPECT_DOUBLE_EQ(*rank_group(runs).regret, 0.0);
}

TEST(Regret, AGroupWithoutARunThatWorkedHasNone) {
  EXPECT_FALSE(rank_group(std::vector{ran_out(1), ran_out(2)}).regret);
  EXPECT_FALSE(rank_group(std::vector{run(1, 1)}).regret) << "one run is no choice";
}

TEST(RankingSummary, MeansOverGroups) {
  const std::vector<GroupRanking> groups = {
      {.kendall_tau = 1.0, .regret = 0.0},
      {.kendall_tau = 0.5, .regret = 0.3},
      {.kendall_tau = std::nullopt, .regret = 0.0},
      {.kendall_tau = std::nullopt, .regret = std::nullopt},
  };
  const RankingSummary s = summarize_rankings(groups);
  EXPECT_EQ(s.groups, 3);
  EXPECT_DOUBLE_EQ(*s.kendall_tau, 0.75);
  EXPECT_DOUBLE_EQ(*s.regret, 0.1);
  EXPECT_EQ(s.oom_choices, 0);
}

TEST(RankingSummary, OneInfiniteRegretMakesTheMeanInfinite) {
  const std::vector<GroupRanking> groups = {{.kendall_tau = 1.0, .regret = 0.2},
                                            {.kendall_tau = 1.0, .regret = HUGE_VAL}};
  const RankingSummary s = summarize_rankings(groups);
  EXPECT_TRUE(std::isinf(*s.regret));
  EXPECT_EQ(s.oom_choices, 1);
  EXPECT_DOUBLE_EQ(*s.finite_regret, 0.2);
}

}  // namespace
}  // namespace windtunnel
