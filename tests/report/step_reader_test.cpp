#include "report/step_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/step_json.h"
#include "tests/report/sample_report.h"

namespace windtunnel {
namespace {

using Json = nlohmann::ordered_json;

StepFile read(const std::string& text) {
  return read_steps(parse_located_json(text, "a.json"), "a.json");
}

std::string problem_of(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics.size(), 1U);
    return error.diagnostics.front().message;
  }
  return "read";
}

Json sample() {
  return Json::parse(step_json(sample_report()));
}

/// What is said when one value of the sample is another.
std::string problem_with(const char* pointer, const Json& value) {
  Json json = sample();
  json[Json::json_pointer(pointer)] = value;
  return problem_of(json.dump());
}

TEST(StepReader, WhatIsWrittenReadsBackToTheSameComparedValues) {
  StepReport report = sample_report();
  report.kind = StepKind::run;
  report.step_time_spread_s = {13.5, 14.0};
  const StepFile file = read(step_json(report));
  ASSERT_EQ(file.steps.size(), 1U);
  StepReport read_back = file.steps.front();
  EXPECT_EQ(read_back.traffic, report.traffic);
  // What a comparison does not need is not read; the rest prints to the same bytes.
  read_back.bottleneck = report.bottleneck;
  read_back.runner_up = report.runner_up;
  read_back.lever = report.lever;
  read_back.parameters = report.parameters;
  read_back.origins = report.origins;
  read_back.assumptions = report.assumptions;
  read_back.calibrate_next = report.calibrate_next;
  read_back.memory.oom_probability = report.memory.oom_probability;
  for (std::size_t i = 0; i < report.memory.stages.size(); ++i) {
    StageMemory& stage = read_back.memory.stages[i];
    stage.largest = report.memory.stages[i].largest;
    stage.startup_peak_bytes = report.memory.stages[i].startup_peak_bytes;
    stage.first_step_peak_bytes = report.memory.stages[i].first_step_peak_bytes;
  }
  EXPECT_EQ(step_json(read_back), step_json(report));
}

TEST(StepReader, AnArrayHoldsSeveralAndTheRefused) {
  Json other = sample();
  other["id"] = "other";
  const Json refused = {{"id", "bad"}, {"memory", nullptr}, {"errors", {{{"message", "no"}}}}};
  const StepFile file = read(Json::array({sample(), refused, other}).dump());
  ASSERT_EQ(file.steps.size(), 2U);
  EXPECT_EQ(file.steps[1].id, "other");
  EXPECT_EQ(file.refused, std::vector<std::string>{"bad"});
}

TEST(StepReader, UnknownKeysAreIgnoredAndARunMayLeaveOutWhatItDidNotMeasure) {
  Json json = sample();
  json["losses"] = {1.0, 0.5};
  for (const char* key : {"mfu", "hfu", "tokens_per_s", "name", "plan", "step_time_interval_s"}) {
    json.erase(key);
  }
  const StepReport step = read(json.dump()).steps.front();
  EXPECT_EQ(step.mfu, 0.0);
  EXPECT_EQ(step.step_time_interval_s, (std::array<double, 2>{13.75, 13.75}));
}

TEST(StepReader, ForeignFilesAreRefusedWithWhatIsMissing) {
  EXPECT_EQ(problem_of("{\"name\": \"left-pad\"}"), "is no step: key 'kind' is missing");
  EXPECT_EQ(problem_of("[]"), "holds no step");
  EXPECT_EQ(problem_of("3"), "is no step: key 'kind' is missing");
  EXPECT_EQ(problem_of("[[]]"), "is no step: key 'kind' is missing");
  for (const char* key :
       {"id", "step_time_s", "breakdown_s", "breakdown_by_stage_s", "memory", "traffic"}) {
    Json json = sample();
    json.erase(key);
    EXPECT_EQ(problem_of(json.dump()), std::string("is no step: key '") + key + "' is missing");
  }
}

TEST(StepReader, EveryCutOfAFileIsRefused) {
  const std::string text = step_json(sample_report());
  for (std::size_t length = 0; length < text.size(); length += 97) {
    EXPECT_THROW(read(text.substr(0, length)), InputError) << length;
  }
}

TEST(StepReader, ValuesOutOfTheirBoundsAreRefused) {
  EXPECT_EQ(problem_with("/kind", "guess"), "is no step: 'kind' is 'guess', not simulation or run");
  EXPECT_EQ(problem_with("/step_time_s", -1.0), "'step_time_s' is negative");
  EXPECT_EQ(problem_with("/step_time_s", 1e300), "'step_time_s' is no time of a step");
  EXPECT_EQ(problem_with("/step_time_s", "1 s"), "'step_time_s' is text, and should be a number");
  EXPECT_EQ(problem_with("/step_time_interval_s", {3.0, 2.0}),
            "'step_time_interval_s' ends before it begins");
  EXPECT_EQ(problem_with("/step_time_spread_s", {3.0}), "'step_time_spread_s' is no range");
  EXPECT_EQ(problem_with("/mfu", 1e40), "'mfu' is no number up to 1e30");
  EXPECT_EQ(problem_with("/memory/verdict", "maybe"), "'verdict' is 'maybe'");
  EXPECT_EQ(problem_with("/memory/fullest_stage", 9),
            "the fullest stage, 9, is not among the stages");
  EXPECT_EQ(problem_with("/memory/stages/1/stage", 0), "memory of stage 0 stands twice");
  EXPECT_EQ(problem_with("/memory/stages/0/peak_allocated_bytes", 0.5),
            "'peak_allocated_bytes' is no whole number from 0 to 2^52");
  EXPECT_EQ(problem_with("/memory/stages/0/by_category/weights", -1),
            "'weights' is no whole number from 0 to 2^52");
  EXPECT_EQ(problem_with("/traffic/0/bytes", 1e18), "'bytes' is no whole number from 0 to 2^52");
  EXPECT_EQ(problem_with("/traffic/0/stage", 1024), "'stage' 1024 is no stage below 1024");
  EXPECT_EQ(problem_with("/traffic/1", sample().at("traffic").at(0)),
            "traffic of stage 0, all_gather on tp, stands twice");
  EXPECT_EQ(problem_with("/id", "a\u001b[2J"), "a text holds a control character");
  EXPECT_EQ(problem_with("/plan", std::string(5000, 'x')), "a text over 4 KiB");
  EXPECT_EQ(problem_of(Json::array({sample(), sample()}).dump()), "id 'gpt3-175b' stands twice");
}

}  // namespace
}  // namespace windtunnel
