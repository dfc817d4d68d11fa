#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using nlohmann::json;
using ValidateVerb = ProgramTest;

TEST_F(ValidateVerb, PrintsARowPerScenarioAndSummaries) {
  const Finished f = windtunnel("validate $DATA/set.yaml");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  for (const char* part : {"one-f-one-b", "-6.2 %", "fill-drain", "+0.0 %", "a set", "overall"}) {
    expect_contains(f.out, part);
  }
}

TEST_F(ValidateVerb, JsonIsTheSame) {
  const Finished f = windtunnel("validate $DATA/set.yaml --json");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  const json j = json::parse(f.out);
  EXPECT_EQ(j.at("rows").size(), 2U);
  EXPECT_EQ(j.at("rows").at(0).at("step_time_error"), 15.0 / 16.0 - 1.0);
  EXPECT_EQ(j.at("summary").at("sources").at("a set").at("step_time").at("n"), 2);
}

TEST_F(ValidateVerb, ARefusedRowIsNamedAndExitsWithTwo) {
  const Finished f = windtunnel("validate $DATA/with_refused.yaml --json");
  EXPECT_EQ(f.exit_code, 2);
  const json rows = json::parse(f.out).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  expect_contains(rows.at(0).at("refused"), "muon");
  EXPECT_TRUE(rows.at(1).at("refused").is_null());
}

TEST_F(ValidateVerb, AFolderIsReadInOrderAndABrokenFileIsARow) {
  const Finished f = windtunnel("validate $DATA --json");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "broken.yaml:5:8: error: ");
  const json rows = json::parse(f.out).at("rows");
  EXPECT_EQ(rows.at(0).at("id"), "broken.yaml");
  EXPECT_EQ(rows.at(1).at("id"), "one-f-one-b");
}

TEST_F(ValidateVerb, APathThatIsNotThere) {
  const Finished f = windtunnel("validate nowhere");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "nowhere: error: no such file or folder");
}

}  // namespace
}  // namespace windtunnel
