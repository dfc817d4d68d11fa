// `run --emulate`: transfers, memory and order are real, kernels only take their time.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

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

/// What each stream of each rank did, in the order of its beginnings.
using Order = std::map<std::pair<int, int>, std::vector<std::string>>;
Order order_of(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, std::string>>> began;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || !event.contains("args") || !event["args"].contains("segment")) {
      continue;
    }
    began[{event.at("pid").get<int>(), event.at("tid").get<int>()}].emplace_back(
        event.at("ts").get<double>(), event.at("name").get<std::string>());
  }
  Order order;
  for (auto& [stream, events] : began) {
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ts, name] : events) order[stream].push_back(name);
  }
  return order;
}

TEST_F(Emulate, EveryStreamHasTheSimulationsOrder) {
  write("three.yaml", toy_yaml("three", 8,
                               "tp: 2, pp: 2, dp: 2, sequence_parallel: true, schedule: {kind: "
                               "interleaved_1f1b, virtual_stages: 2}, overlap: {pp: true}, "
                               "sharding: {kind: zero1, overlap_grad_reduce: true, bucket: 1000}") +
                          "profile: work.profile.json\n");
  const Finished without = windtunnel("run three.yaml --emulate work.profile.json");
  EXPECT_EQ(without.exit_code, 2);
  expect_contains(without.err, "the profile has no time of ");
  const Finished f = windtunnel("calibrate --for three.yaml --budget 1s -o work.profile.json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const Finished run =
      windtunnel("run three.yaml --emulate work.profile.json --steps 1 --trace run.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Finished simulated = windtunnel("simulate three.yaml --trace simulated.json");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  const Order ran = order_of(Json::parse(read_file(folder / "work" / "run.json")));
  const Order told = order_of(Json::parse(read_file(folder / "work" / "simulated.json")));
  EXPECT_GT(ran.size(), 8U) << "eight ranks with several streams each";
  EXPECT_EQ(ran.size(), told.size());
  for (const auto& [stream, names] : told) {
    ASSERT_TRUE(ran.contains(stream)) << stream.first << " " << stream.second;
    EXPECT_EQ(ran.at(stream), names) << "rank " << stream.first << ", stream " << stream.second;
  }
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
