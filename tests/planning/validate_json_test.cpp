#include "planning/validate_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "planning/validate_text.h"
#include "tests/planning/validation_rows.h"

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-12;  // a few roundings of doubles near 1

using nlohmann::json;

Validation sample() {
  ValidationRow refused{.id = "no", .source = "s", .group = "g", .assumed = {}, .refused = "why"};
  refused.measured = Measured{.step_time = Seconds{1.0}, .source = "a paper"};
  std::vector<ValidationRow> rows = {timed_row(2.0, 1.5), oom_row(true, false), refused};
  rows[0].group = rows[1].group = "g";
  rows[1].predicted->step_time_s = 0.5;  // predicted best, but it ran out
  Validation validation{.rows = rows, .summaries = summarize(rows), .load_errors = {}};
  return validation;
}

TEST(ValidationJson, RowsHaveTheKeysScriptsRelyOn) {
  const json j = json::parse(validation_json(sample()));
  const json& row = j.at("rows").at(0);
  EXPECT_EQ(row.at("id"), "r");
  EXPECT_EQ(row.at("source"), "s");
  EXPECT_EQ(row.at("group"), "g");
  for (const char* key : {"step_time_s", "step_time_interval_s", "peak_allocated_bytes",
                          "peak_reserved_bytes", "peak_device_bytes", "oom"}) {
    EXPECT_TRUE(row.at("predicted").contains(key)) << key;
  }
  EXPECT_EQ(row.at("measured").at("step_time_s"), 2.0);
  EXPECT_EQ(row.at("measured").at("oom"), false);
  EXPECT_EQ(row.at("step_time_error"), -0.25);
  EXPECT_TRUE(row.at("memory_error").is_null());
  EXPECT_EQ(row.at("interval_holds"), false);
  EXPECT_TRUE(row.at("refused").is_null());
  EXPECT_EQ(j.at("rows").at(2).at("refused"), "why");
  EXPECT_TRUE(j.at("rows").at(2).at("predicted").is_null());
}

TEST(ValidationJson, SummariesHaveTheKeysScriptsRelyOn) {
  const json summary = json::parse(validation_json(sample())).at("summary");
  const json& s = summary.at("overall");
  EXPECT_EQ(summary.at("sources").at("s"), s);
  EXPECT_EQ(s.at("rows"), 3);
  EXPECT_EQ(s.at("refused"), 1);
  for (const char* key : {"n", "mape", "median_ape", "bias", "p90_ape", "max_ape"}) {
    EXPECT_TRUE(s.at("step_time").contains(key)) << key;
  }
  for (const char* key : {"n", "mape", "median_ape"}) {
    EXPECT_TRUE(s.at("memory").contains(key)) << key;
  }
  EXPECT_EQ(s.at("oom").at("true_positive"), 0);
  EXPECT_EQ(s.at("oom").at("false_positive"), 0);
  EXPECT_EQ(s.at("oom").at("true_negative"), 1);
  EXPECT_EQ(s.at("oom").at("false_negative"), 1);
  EXPECT_EQ(s.at("ranking").at("groups"), 1);
  EXPECT_EQ(s.at("ranking").at("kendall_tau"), -1.0);
  EXPECT_EQ(s.at("interval_coverage"), 0.0);
  EXPECT_NEAR(s.at("interval_half_width").get<double>(), 0.1, kRounding);
}

TEST(ValidationJson, AnInfiniteRegretIsNullAndCounted) {
  const json ranking =
      json::parse(validation_json(sample())).at("summary").at("overall").at("ranking");
  EXPECT_TRUE(ranking.at("regret").is_null());
  EXPECT_EQ(ranking.at("oom_choices"), 1);
}

TEST(ValidationText, HasARowForEveryScenarioAndTheSummaries) {
  const std::string text = validation_text(sample());
  for (const char* expected : {"-25.0 %", "fits, was oom", "refused: why", "overall", "infinite",
                               "recall", "half-width"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace windtunnel
