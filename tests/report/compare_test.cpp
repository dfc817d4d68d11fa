#include "report/compare.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/compare_json.h"
#include "report/compare_limits.h"
#include "report/compare_text.h"
#include "report/compare_words.h"
#include "report/step_pairs.h"
#include "report/text_layout.h"
#include "tests/report/compared_steps.h"

namespace windtunnel {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Comparison sample_comparison() {
  return compare_steps(sample_report(), changed_report());
}

const TermDifference& term(const Comparison& c, const std::string& key) {
  for (const TermDifference& row : c.breakdown.terms) {
    if (row.term->key == key) return row;
  }
  throw std::runtime_error("no term " + key);
}

/// The step time of B and one term, both longer by `seconds`.
StepReport slower(double Breakdown::*field, double seconds) {
  StepReport report = sample_report();
  report.breakdown.*field += seconds;
  report.step_time_s += seconds;
  return report;
}

TEST(Both, RelativeIsAgainstA) {
  const Both<double> longer{.a = 2.0, .b = 3.0};
  EXPECT_EQ(longer.difference(), 1.0);
  EXPECT_EQ(longer.relative(), 0.5);
  EXPECT_EQ((Both<double>{.a = 0.0, .b = 3.0}).relative(), std::nullopt);
  EXPECT_EQ((Both<std::int64_t>{.a = 4, .b = 1}).relative(), -0.75);
}

TEST(Compare, EveryTermOfTheBreakdownIsThere) {
  const Comparison c = sample_comparison();
  EXPECT_EQ(c.breakdown.terms.size(), breakdown_terms().size());
  EXPECT_EQ(term(c, "tp").seconds.a, 2.0);
  EXPECT_EQ(term(c, "tp").seconds.b, 5.0);
  EXPECT_EQ(term(c, "bubble").seconds.difference(), -0.5);
  EXPECT_EQ(term(c, "gemm").seconds.difference(), 0.0);
  double sum = 0.0;
  for (const TermDifference& row : c.breakdown.terms) {
    sum += row.term->part ? 0.0 : row.seconds.difference();
  }
  EXPECT_DOUBLE_EQ(sum, c.step_time_s.difference());
  ASSERT_EQ(c.stages.size(), 4U);
}

TEST(Compare, ModulesAndCategoriesOfOneSideCompareWithZero) {
  StepReport a = sample_report(), b = sample_report();
  a.breakdown.compute_by_module = {{"mlp", 6.0}, {"norm", 1.0}};
  b.breakdown.compute_by_module = {{"loss", 2.0}, {"mlp", 7.0}};
  const Comparison c = compare_steps(a, b);
  ASSERT_EQ(c.breakdown.modules.size(), 3U);
  EXPECT_EQ(c.breakdown.modules[0].seconds.difference(), 1.0);   // mlp
  EXPECT_EQ(c.breakdown.modules[1].seconds.difference(), -1.0);  // norm
  EXPECT_EQ(c.breakdown.modules[2].module, "loss");
  EXPECT_EQ(c.breakdown.modules[2].seconds.a, 0.0);
}

TEST(Compare, MemoryAndTrafficAreExact) {
  const Comparison c = sample_comparison();
  ASSERT_EQ(c.memory.size(), 4U);
  EXPECT_EQ(c.memory[0].allocated_bytes.difference(), 0);
  EXPECT_EQ(c.memory[1].allocated_bytes.difference(), kGiB);
  EXPECT_EQ(c.memory[1].by_category[3].first, "weights");
  EXPECT_EQ(c.memory[1].by_category[3].second.difference(), kGiB);
  ASSERT_EQ(c.traffic.size(), 2U);
  EXPECT_EQ(c.traffic[1].communicator, "tp");
  EXPECT_EQ(c.traffic[1].count.difference(), 192);
  EXPECT_EQ(c.traffic[1].bytes.difference(), 9'663'676'416);
  EXPECT_EQ(c.traffic[0].bytes.difference(), 0);
}

TEST(Compare, StagesThatDifferInNumberAreComparedByMeansFullestAndSums) {
  StepReport b = changed_report();
  b.stages.resize(2);
  b.memory.stages.resize(2);
  b.memory.fullest_stage = 1;
  b.traffic[1].stage = 1;
  const Comparison c = compare_steps(sample_report(), b);
  EXPECT_TRUE(c.stages.empty());
  EXPECT_TRUE(c.memory.empty());
  EXPECT_TRUE(c.traffic.empty());
  ASSERT_TRUE(c.fullest);
  EXPECT_EQ(c.fullest->stage.a, 0);
  EXPECT_EQ(c.fullest->stage.b, 1);
  EXPECT_EQ(c.fullest->allocated_bytes.difference(), -3 * kGiB);  // 53 against 56
  ASSERT_EQ(c.traffic_sums.size(), 2U);
  EXPECT_EQ(c.traffic_sums[0].bytes.difference(), 0) << "the send is on another stage";
}

TEST(CauseSentence, NamesTheTermThatGrewMost) {
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), slower(&Breakdown::host, 1.375))),
            "B's step takes 10.0 % longer: waiting for the host grew by 1.375 s.");
  StepReport b = slower(&Breakdown::host, 1.0);
  b.breakdown.bubble += 0.375;
  b.step_time_s += 0.375;
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), b)),
            "B's step takes 10.0 % longer: waiting for the host grew by 1 s of the 1.375 s.");
}

TEST(CauseSentence, SaysWhatWentAgainstIt) {
  EXPECT_EQ(
      cause_sentence(sample_comparison()),
      "B's step takes 18.2 % longer: exposed tp communication grew by 3 s, while the pipeline "
      "bubble shrank by 500 ms: +2.5 s in all.");
  EXPECT_EQ(cause_sentence(compare_steps(changed_report(), sample_report())),
            "B's step takes 15.4 % less time: exposed tp communication shrank by 3 s, while the "
            "pipeline bubble grew by 500 ms: -2.5 s in all.");
}

TEST(CauseSentence, ComputeSaysMostlyWhat) {
  StepReport b = slower(&Breakdown::compute, 1.375);
  b.breakdown.gemm += 1.375;
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), b)),
            "B's step takes 10.0 % longer: compute, mostly matrix products, grew by 1.375 s.");
  b.breakdown.recompute += 1.0;
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), b)),
            "B's step takes 10.0 % longer: compute, mostly recomputation, grew by 1.375 s.");
}

TEST(CauseSentence, OfEqualStepsNamesWhatBalances) {
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), sample_report())),
            "B's step takes as long as A's.");
  StepReport b = sample_report();
  b.breakdown.bubble += 0.5;
  b.breakdown.host -= 0.25;
  b.breakdown.exposed_comm.dp -= 0.25;
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), b)),
            "B's step takes as long as A's: the pipeline bubble grew by 500 ms, exposed dp "
            "communication shrank by 250 ms.");
  EXPECT_EQ(cause_sentence(compare_steps(sample_report(), slower(&Breakdown::host, 0.001))),
            "B's step takes as long as A's, to 0.05 %.");
}

TEST(CauseSentence, AStepOfNoTimeHasNoPercent) {
  EXPECT_EQ(cause_sentence(compare_steps({}, slower(&Breakdown::host, 0.0))),
            "B's step takes 13.75 s longer: compute, mostly matrix products, grew by 10 s of the "
            "13.75 s.");
}

TEST(IntervalSentence, PlacesARunInASimulationsInterval) {
  StepReport run = sample_report();
  run.kind = StepKind::run;
  const auto place = [&](double seconds) {
    run.step_time_s = seconds;
    return interval_sentence(compare_steps(run, sample_report()));
  };
  EXPECT_EQ(place(13.0), "The run lies below the simulation's 90 % interval.");
  EXPECT_EQ(place(14.4), "The run lies inside the simulation's 90 % interval.");
  EXPECT_EQ(place(14.5), "The run lies above the simulation's 90 % interval.");
  EXPECT_EQ(interval_sentence(sample_comparison()), "") << "two simulations";
}

TEST(ChangeText, RoundsToATenthOfAPercent) {
  EXPECT_EQ(change_text(0.1234), "+12.3 %");
  EXPECT_EQ(change_text(-0.5), "-50.0 %");
  EXPECT_EQ(change_text(0.0004), "0.0 %");
  EXPECT_EQ(change_text(8.99), "+899.0 %");
  EXPECT_EQ(change_text(9.0), "x 10");
  EXPECT_EQ(change_text(std::nullopt), "new");
}

TEST(PairSteps, OneAndOneArePartnersWhateverTheirIds) {
  const StepPairs pairs = pair_steps({.steps = {sample_report()}}, {.steps = {changed_report()}});
  EXPECT_EQ(pairs.pairs.size(), 1U);
  EXPECT_TRUE(pairs.only_in_a.empty());
}

TEST(PairSteps, SetsAreMatchedByIdAndTheRestIsNamed) {
  const auto with_id = [](const char* id) {
    StepReport report;
    report.id = id;
    return report;
  };
  const StepFile a{.steps = {with_id("x"), with_id("y"), with_id("z")}, .refused = {}};
  const StepFile b{.steps = {with_id("z"), with_id("w"), with_id("x")}, .refused = {"y"}};
  const StepPairs found = pair_steps(a, b);
  ASSERT_EQ(found.pairs.size(), 2U);
  EXPECT_EQ(found.pairs[0].a, 0U);
  EXPECT_EQ(found.pairs[0].b, 2U);
  EXPECT_EQ(found.pairs[1].b, 0U);
  EXPECT_EQ(found.only_in_a, std::vector<std::string>{"y"});
  EXPECT_EQ(found.only_in_b, std::vector<std::string>{"w"});
}

/// After a change that is meant, WINDTUNNEL_WRITE_GOLDENS=1 makes these tests write what they got.
void expect_golden(const std::string& name, const std::string& got) {
  const std::string path = std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/report/" + name;
  if (std::getenv("WINDTUNNEL_WRITE_GOLDENS")) std::ofstream(path) << got;
  std::ifstream file(path);
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(got, golden.str());
}

TEST(CompareText, Golden) {
  expect_golden("compare_text.golden", compare_text(sample_comparison()));
}

TEST(CompareJson, Golden) {
  const Comparison c = sample_comparison();
  const std::string json = comparison_json(c, violations_of(c, {.step_error = 0.1}));
  EXPECT_TRUE(nlohmann::json::accept(json));
  expect_golden("compare_json.golden", json + "\n");
}

TEST(CompareText, FitsEightyColumns) {
  StepReport a = sample_report(), b = changed_report();
  a.memory.verdict = Verdict::oom;
  const auto widest = [](const std::string& text) {
    std::istringstream lines(text);
    std::size_t most = 0;
    for (std::string line; std::getline(lines, line);) most = std::max(most, width_of(line));
    return most;
  };
  const std::string text = compare_text(compare_steps(a, b));
  EXPECT_LE(widest(text), kTextWidth) << text;
  EXPECT_NE(text.find("A does not fit"), std::string::npos) << text;
}

TEST(CompareText, WhatIsEqualIsOneLine) {
  const std::string text = compare_text(compare_steps(sample_report(), sample_report()));
  EXPECT_NE(text.find("Memory: equal"), std::string::npos);
  EXPECT_NE(text.find("Traffic: equal"), std::string::npos);
  EXPECT_EQ(text.find("by module"), std::string::npos);
  EXPECT_EQ(text.find("by stage"), std::string::npos);
  EXPECT_EQ(text.find("straggler"), std::string::npos) << "zero on both sides";
}

TEST(CompareText, ARunsSpreadStandsBesideTheInterval) {
  StepReport run = sample_report();
  run.kind = StepKind::run;
  run.step_time_spread_s = {13.5, 14.25};
  run.step_time_interval_s = {13.75, 13.75};
  const std::string text = compare_text(compare_steps(run, sample_report()));
  EXPECT_NE(text.find("shortest to longest  13.50 to 14.25\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(run)"), std::string::npos);
}

}  // namespace
}  // namespace windtunnel
