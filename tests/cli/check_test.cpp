#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using nlohmann::json;
using Check = ProgramTest;

TEST_F(Check, WhatFitsExitsWithZero) {
  const Finished f = windtunnel("check $DATA/small.yaml");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(f.err, "");
  expect_contains(f.out, "memory     fits: stage 0 needs");
}

TEST_F(Check, WhatDoesNotFitExitsWithOneAndSaysWhatBreaks) {
  const Finished f = windtunnel("check $DATA/too_large.yaml");
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_EQ(f.err, "");
  expect_contains(f.out, "does not fit");
  expect_contains(f.out, "breaks at");
}

TEST_F(Check, JsonHasTheMemoryAndNoErrors) {
  const Finished f = windtunnel("check $DATA/too_large.yaml --json");
  EXPECT_EQ(f.exit_code, 1);
  const json j = json::parse(f.out);
  EXPECT_EQ(j.at("id"), "too-large");
  EXPECT_EQ(j.at("memory").at("verdict"), "oom");
  EXPECT_GE(j.at("memory").at("oom_probability"), 0.5);
  EXPECT_EQ(j.at("errors"), json::array());
}

TEST_F(Check, AWrongKeyHasPlaceCaretAndHint) {
  const Finished f = windtunnel("check $DATA/broken.yaml");
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.out, "");
  expect_contains(f.err, "broken.yaml:5:8: error: ");
  expect_contains(f.err, "\n  plan: {tpp: 2}\n         ^\n");
  expect_contains(f.err, "hint: ");
}

TEST_F(Check, WithJsonTheErrorsAreDataToo) {
  const Finished f = windtunnel("check $DATA/broken.yaml --json");
  EXPECT_EQ(f.exit_code, 2);
  const json j = json::parse(f.out);
  EXPECT_TRUE(j.at("memory").is_null());
  const json& error = j.at("errors").at(0);
  expect_contains(error.at("file"), "broken.yaml");
  EXPECT_EQ(error.at("line"), 5);
  EXPECT_EQ(error.at("column"), 8);
  EXPECT_NE(error.at("message"), "");
  EXPECT_NE(error.at("hint"), "");
  expect_contains(f.err, "broken.yaml:5:8: error: ");
}

TEST_F(Check, AFileThatIsNotThere) {
  const Finished f = windtunnel("check missing.yaml");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "missing.yaml: error: ");
}

TEST_F(Check, ASetIsAnsweredInOrder) {
  const Finished f = windtunnel("check $DATA/set.yaml --json");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  const json j = json::parse(f.out);
  ASSERT_EQ(j.size(), 2U);
  EXPECT_EQ(j.at(0).at("id"), "one-f-one-b");
  EXPECT_EQ(j.at(1).at("id"), "fill-drain");
}

TEST_F(Check, AnIdPicksOneScenario) {
  const Finished f = windtunnel("check $DATA/set.yaml --id fill-drain --json");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(json::parse(f.out).at("id"), "fill-drain");
}

TEST_F(Check, AnUnknownIdIsCorrected) {
  const Finished f = windtunnel("check $DATA/set.yaml --id fill-drian");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "has no scenario `fill-drian`\n  hint: did you mean `fill-drain`?");
}

TEST_F(Check, ARefusedScenarioOfASetIsNamedAndTheOthersAnswered) {
  const Finished f = windtunnel("check $DATA/with_refused.yaml --json");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "muon");
  const json j = json::parse(f.out);
  ASSERT_EQ(j.size(), 2U);
  EXPECT_EQ(j.at(0).at("id"), "later");
  EXPECT_EQ(j.at(0).at("errors").size(), 1U);
  EXPECT_EQ(j.at(1).at("errors").size(), 0U);
}

}  // namespace
}  // namespace windtunnel
