#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using nlohmann::json;
using Simulate = ProgramTest;

TEST_F(Simulate, PrintsTheReport) {
  const Finished f = windtunnel("simulate $DATA/small.yaml");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(f.err, "") << "progress is for terminals";
  for (const char* part : {"step_time", "90 % interval", "tokens/s", "MFU", "convention",
                           "bottleneck", "lever", "Where the time goes", "memory     fits"}) {
    expect_contains(f.out, part);
  }
}

TEST_F(Simulate, UnitCostsGiveTheClosedForm) {
  const Finished f = windtunnel("simulate $DATA/unit.yaml --json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  // (m + p - 1)(F + B) = (4 + 2 - 1) * 3 s
  EXPECT_EQ(json::parse(f.out).at("step_time_s"), 15.0);
}

TEST_F(Simulate, TheBreakdownOfEveryStageSumsToTheStepTime) {
  constexpr double kRounding = 1e-9;  // sums of a dozen doubles
  for (const char* file : {"small", "unit"}) {
    const Finished f = windtunnel(std::string("simulate --json $DATA/") + file + ".yaml");
    const json j = json::parse(f.out);
    for (const json& b : j.at("breakdown_by_stage_s")) {
      double sum = 0.0;
      for (const char* key : {"compute", "bubble", "straggler", "host", "input"}) {
        sum += b.at(key).get<double>();
      }
      for (const auto& [group, s] : b.at("exposed_comm").items()) sum += s.get<double>();
      EXPECT_NEAR(sum / j.at("step_time_s").get<double>(), 1.0, kRounding) << file;
    }
  }
}

TEST_F(Simulate, WhatDoesNotFitExitsWithOneAndStillAnswers) {
  const Finished f = windtunnel("simulate $DATA/too_large.yaml --json");
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_EQ(json::parse(f.out).at("memory").at("verdict"), "oom");
}

TEST_F(Simulate, TheSameSeedGivesTheSameBytesAnotherAnotherInterval) {
  const std::string command = "simulate $DATA/small.yaml --json --seed ";
  const std::string first = windtunnel(command + "7").out;
  EXPECT_EQ(first, windtunnel(command + "7").out);
  const json a = json::parse(first), b = json::parse(windtunnel(command + "8").out);
  EXPECT_EQ(a.at("step_time_s"), b.at("step_time_s"));
  EXPECT_NE(a.at("step_time_interval_s"), b.at("step_time_interval_s"));
}

TEST_F(Simulate, WithoutDrawsThereIsNoInterval) {
  EXPECT_EQ(windtunnel("simulate $DATA/small.yaml --draws 0").out.find("90 %"), std::string::npos);
}

TEST_F(Simulate, TheTraceHasAProcessPerStageAndArrowsThatPair) {
  const Finished f = windtunnel("simulate $DATA/unit.yaml --trace step.json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const json events = json::parse(read_file(folder / "work" / "step.json")).at("traceEvents");
  std::set<std::string> processes;
  std::map<int, int> starts, ends;
  int slices = 0, counters = 0;
  for (const json& e : events) {
    const std::string phase = e.at("ph");
    if (e.at("name") == "process_name") processes.insert(e.at("args").at("name"));
    if (phase == "s") ++starts[e.at("id")];
    if (phase == "f") ++ends[e.at("id")];
    if (phase == "X") ++slices;
    if (phase == "C") ++counters;
  }
  EXPECT_EQ(processes, (std::set<std::string>{"stage 0", "stage 1"}));
  EXPECT_EQ(starts.size(), 8U) << "four micro-batches, there and back";
  EXPECT_EQ(starts, ends);
  for (const auto& [id, count] : starts) EXPECT_EQ(count, 1) << id;
  EXPECT_GT(slices, 0);
  EXPECT_GT(counters, 0);
}

TEST_F(Simulate, SlicesOfATrackDoNotOverlap) {
  ASSERT_EQ(windtunnel("simulate $DATA/small.yaml --trace step.json").exit_code, 0);
  std::map<std::pair<int, int>, double> busy_until;
  const json trace = json::parse(read_file(folder / "work" / "step.json"));
  constexpr double kHalfNanosecond = 0.0005;  // times are microseconds in doubles
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("ph") != "X") continue;
    double& end = busy_until[{e.at("pid"), e.at("tid")}];
    EXPECT_GE(e.at("ts").get<double>(), end - kHalfNanosecond) << e;
    end = e.at("ts").get<double>() + e.at("dur").get<double>();
  }
}

TEST_F(Simulate, AnUnwritableTraceLeavesNothingAndSaysWhy) {
  const Finished f = windtunnel("simulate $DATA/unit.yaml --trace no/such/folder.json");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "no/such/folder.json: error: cannot write it");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "work"));
}

TEST_F(Simulate, AFullDiskUnderTheTraceIsSaid) {
  const Finished f = windtunnel("simulate $DATA/unit.yaml --trace /dev/full");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "/dev/full: error: ");
  expect_contains(f.err, "No space left");
}

TEST_F(Simulate, ATraceDoesNotReplaceItsScenario) {
  const Finished f = shell(
      "cp $DATA/unit.yaml one.yaml && ln -s one.yaml link && "
      "$WINDTUNNEL simulate one.yaml --trace link");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "link: error: is the scenario");
  expect_contains(read_file(folder / "work" / "one.yaml"), "id: unit");
}

TEST_F(Simulate, AStepLongerThanItsClockIsRefused) {
  for (const char* edit :
       {"s/F: \"1 s\"/F: \"20 d\"/", "s/F: \"1 s\"/F: \"1e9 d\"/",
        "s/layer:/launch: \"1 d\", layer:/", "s/layer:/hop: \"1e6 d\", layer:/"}) {
    const Finished f = shell(std::string("sed -e '") + edit +
                             "' $DATA/unit.yaml > long.yaml && $WINDTUNNEL simulate long.yaml");
    EXPECT_EQ(f.exit_code, 2) << edit << f.out;
    expect_contains(f.err, "s are not simulated");
  }
  const Finished slow = shell(
      "sed -e 's/nodes: 1/nodes: 2, network: {nics_per_node: 1, nic_bandwidth: 0.001 B\\/s}/' "
      "-e 's/tp: 2/tp: 4/' $DATA/small.yaml > slow.yaml && $WINDTUNNEL simulate slow.yaml");
  EXPECT_EQ(slow.exit_code, 2) << slow.out;
  expect_contains(slow.err, "s are not simulated");
}

TEST_F(Simulate, ATraceIsOfOneScenario) {
  const Finished several = windtunnel("simulate $DATA/set.yaml --trace step.json");
  EXPECT_EQ(several.exit_code, 2);
  expect_contains(several.err, "--id");
  EXPECT_EQ(windtunnel("simulate $DATA/set.yaml --trace step.json --id fill-drain").exit_code, 0);
}

TEST_F(Simulate, ASetGivesAnArray) {
  const json j = json::parse(windtunnel("simulate $DATA/set.yaml --json").out);
  ASSERT_EQ(j.size(), 2U);
  EXPECT_EQ(j.at(1).at("step_time_s"), 15.0);
}

}  // namespace
}  // namespace windtunnel
