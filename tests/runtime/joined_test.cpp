// Ranks that mpirun started: every `windtunnel` becomes one, and the first tells the result.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/runtime/run_scenarios.h"

namespace windtunnel {
namespace {

using Json = nlohmann::json;

constexpr const char* kStart =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to "
    "none "
    "--mca mpi_yield_when_idle 1 -np ";

class Joined : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("s.yaml", toy_yaml("toy", 2, "pp: 2, schedule: {kind: 1f1b}"));
  }
  Finished among(int ranks, const std::string& arguments) const {
    return shell(kStart + std::to_string(ranks) + " $WINDTUNNEL " + arguments);
  }
};

TEST_F(Joined, TheFirstTellsTheResult) {
  const Finished f = among(2, "run s.yaml --steps 2 --json --trace t.json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const Json report = Json::parse(f.out);  // one document
  EXPECT_EQ(report.at("step_times_s").size(), 2U);
  EXPECT_EQ(report.at("breakdown_by_stage_s").size(), 2U);
  EXPECT_FALSE(Json::parse(read_file(folder / "work" / "t.json")).at("traceEvents").empty());
}

TEST_F(Joined, Calibrates) {
  const Finished f = among(2, "calibrate --for s.yaml --budget 1s -o p.profile.json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  EXPECT_FALSE(
      Json::parse(read_file(folder / "work" / "p.profile.json")).at("collectives").empty());
}

TEST_F(Joined, AnotherNumberOfRanksIsRefused) {
  const Finished f = among(3, "run s.yaml");
  EXPECT_NE(f.exit_code, 0);
  expect_contains(f.err, "error: the plan has 2 ranks, and mpirun started 3");
  EXPECT_EQ(f.out, "");
}

TEST_F(Joined, WhatStartsRanksSeveralTimesIsRefused) {
  for (const char* arguments : {"run s.yaml --verify", "rehearse s.yaml"}) {
    const Finished f = among(2, arguments);
    EXPECT_NE(f.exit_code, 0);
    expect_contains(f.err, "starts ranks several times, and those of mpirun can be joined once");
  }
}

/// The one that watches a killed rank says so, and mpirun ends the others.
TEST_F(Joined, ADeadRankIsTold) {
  const Finished f = shell(
      "ranks() {\n"
      "  for p in /proc/[0-9]*; do\n"
      "    tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q \"[w]indtunnel-rank $PWD/s.yaml\" &&\n"
      "      echo ${p#/proc/}\n"
      "  done\n"
      "}\n" +
      std::string(kStart) +
      "2 $WINDTUNNEL run s.yaml --steps 100000 >out 2>err &\n"
      "until [ $(ranks | wc -l) = 2 ]; do kill -0 $! || exit 1; sleep 0.1; done\n"
      "kill -9 $(ranks | head -n 1)\n"
      "wait; cat err");
  EXPECT_EQ(f.exit_code, 0);
  expect_contains(f.out, "was ended by signal 9");
}

/// srun that does not start ranks for this MPI: each finds itself alone.
TEST_F(Joined, AnMpiThatKnowsFewerRanksIsTold) {
  const Finished f =
      shell("SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 $WINDTUNNEL run s.yaml");
  EXPECT_EQ(f.exit_code, 4);
  expect_contains(f.err, "of the 2 ranks that the launcher started, MPI knows 1");
  expect_contains(f.err, "srun --mpi=pmix");
}

}  // namespace
}  // namespace windtunnel
