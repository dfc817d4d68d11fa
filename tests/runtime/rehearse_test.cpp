// `rehearse`: a calibration, a run and a prediction of the same plan, held against each other.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/runtime/run_scenarios.h"

namespace windtunnel {
namespace {

using Json = nlohmann::json;

class Rehearse : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("s.yaml", toy_yaml("toy", 2, "pp: 2, schedule: {kind: 1f1b}"));
  }
};

TEST_F(Rehearse, PredictsBytesToTheByteAndStatesBothSpeeds) {
  const Finished f = windtunnel(
      "rehearse s.yaml --budget 2s --rounds 2 --steps 3 --json --exact-memory "
      "--exact-traffic --trace both.json");
  EXPECT_EQ(f.exit_code, 0) << f.err << f.out;
  const Json all = Json::parse(f.out);
  EXPECT_EQ(all.at("measured").at("kind"), "run");
  EXPECT_EQ(all.at("predicted").at("kind"), "simulation");
  EXPECT_EQ(all.at("measured").at("step_times_s").size(), 3U);
  EXPECT_GT(all.at("predicted").at("step_time_s").get<double>(), 0.0);
  for (const char* when : {"calibrating", "stepping"}) {
    EXPECT_GT(all.at("machine").at(when).at("flops_per_s").get<double>(), 1e8) << when;
    EXPECT_GT(all.at("machine").at(when).at("bytes_per_s").get<double>(), 1e8) << when;
  }
  EXPECT_EQ(Json::parse(read_file(folder / "work" / "both.json")).at("traceEvents").empty(), false);
}

TEST_F(Rehearse, LimitsDecideTheExitStatus) {
  const Finished f =
      windtunnel("rehearse s.yaml --budget 1s --rounds 1 --steps 1 --max-step-error 0%");
  EXPECT_EQ(f.exit_code, 1) << f.err;
  EXPECT_NE(f.out.find("over       --max-step-error 0%"), std::string::npos) << f.out;
  EXPECT_NE(f.out.find("machine    arithmetic"), std::string::npos) << f.out;
}

TEST_F(Rehearse, OtherDevicesAreRefused) {
  const Finished f = windtunnel("rehearse $DATA/small.yaml");
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_NE(f.err.find("ranks run on the CPU device"), std::string::npos) << f.err;
}

}  // namespace
}  // namespace windtunnel
