#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using nlohmann::json;
using PlanVerb = ProgramTest;

TEST_F(PlanVerb, ResolvedNamesEveryValueAndItsOrigin) {
  const Finished f = windtunnel("plan $DATA/unit.yaml --resolved");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  expect_contains(f.out, "plan.pp");
  expect_contains(f.out, "scenario");
  expect_contains(f.out, "preset none");
}

TEST_F(PlanVerb, OpsAreThoseOfTheRank) {
  const Finished first = windtunnel("plan $DATA/unit.yaml --ops");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  expect_contains(first.out, "rank 0: stage 0");
  expect_contains(windtunnel("plan $DATA/unit.yaml --ops --rank 1").out, "rank 1: stage 1");
}

TEST_F(PlanVerb, ARankBeyondThePlanIsRefused) {
  const Finished f = windtunnel("plan $DATA/unit.yaml --ops --rank 2");
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.err, "error: --rank 2: the plan has 2 ranks\n  hint: 0 to 1\n");
}

TEST_F(PlanVerb, JsonHasValuesMeshAndStages) {
  const json j = json::parse(windtunnel("plan $DATA/unit.yaml --json").out);
  EXPECT_EQ(j.at("id"), "unit");
  EXPECT_EQ(j.at("mesh").at("pp"), 2);
  EXPECT_EQ(j.at("mesh").at("ranks"), 2);
  EXPECT_EQ(j.at("micro_batches"), 4);
  ASSERT_EQ(j.at("stages").size(), 2U);
  EXPECT_EQ(j.at("stages").at(0).at("chunks").at(0).at("embedding"), true);
  EXPECT_EQ(j.at("stages").at(1).at("chunks").at(0).at("head"), true);
  bool found = false;
  for (const json& value : j.at("resolved")) found = found || value.at("key") == "plan.pp";
  EXPECT_TRUE(found);
}

TEST_F(PlanVerb, WhatIsNotBuiltIsRefusedByName) {
  const Finished f = windtunnel("plan $DATA/with_refused.yaml --id later");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "muon");
}

}  // namespace
}  // namespace windtunnel
