// `run --emulate`: transfers, memory and order are real, kernels only take their time.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/runtime/run_scenarios.h"

namespace windtunnel {
namespace {

using Json = nlohmann::json;

class Emulate : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("s.yaml", toy_yaml("toy", 2, "tp: 2") + "profile: work.profile.json\n");
    const Finished f = windtunnel("calibrate --for s.yaml --budget 1s -o work.profile.json");
    ASSERT_EQ(f.exit_code, 0) << f.err;
  }
};

TEST_F(Emulate, SendsAndHoldsWhatTheSimulationSays) {
  const Finished run =
      windtunnel("run s.yaml --emulate work.profile.json --steps 3 --json > run.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Finished compared = windtunnel("compare run.json s.yaml --exact-memory --exact-traffic");
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  const Json measured = Json::parse(read_file(folder / "work" / "run.json"));
  EXPECT_TRUE(measured.at("losses").empty()) << "nothing was computed";
  expect_contains(measured.at("assumptions").dump(), "computed nothing");
  const Finished simulated = windtunnel("simulate s.yaml --json");
  const auto compute = [](const Json& step) {
    return step.at("breakdown_s").at("compute").get<double>();
  };
  // A rest never ends early; its draws differ from the simulation's.
  EXPECT_GT(compute(measured), 0.8 * compute(Json::parse(simulated.out)));
}

TEST_F(Emulate, LinksAreCalibratedBetweenRanksThatRest) {
  const Finished f = windtunnel(
      "calibrate --for s.yaml --emulate work.profile.json --budget 1s -o links.profile.json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const Json kernels = Json::parse(read_file(folder / "work" / "work.profile.json"));
  const Json links = Json::parse(read_file(folder / "work" / "links.profile.json"));
  EXPECT_EQ(links.at("measured"), kernels.at("measured"));
  EXPECT_NE(links.at("collectives"), kernels.at("collectives"));
  EXPECT_EQ(links.count("overlap"), 0U);
}

TEST_F(Emulate, WhatItLeavesOutIsRefused) {
  const Finished both = windtunnel("run s.yaml --verify --emulate work.profile.json");
  EXPECT_EQ(both.exit_code, 2);
  expect_contains(both.err, "error: --verify needs what kernels compute");
  const Finished missing = windtunnel("run s.yaml --emulate none.json");
  EXPECT_EQ(missing.exit_code, 2);
  const Finished of_public = windtunnel(
      "calibrate --for s.yaml --emulate "
      "$DATA/../../../scenarios/profiles/a100-sxm-80gb.profile.json -o p.json");
  EXPECT_EQ(of_public.exit_code, 2);
}

}  // namespace
}  // namespace windtunnel
