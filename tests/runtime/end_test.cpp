// A run whose processes are ended or stopped from outside: it says where its ranks were, and leaves
// neither process nor file.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/cli/program.h"
#include "tests/runtime/run_scenarios.h"
#include "tests/runtime/started_run.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 4;
constexpr const char* kForLong = "100000";  // steps: no test waits for their end

class EndedRun : public testing::Test {
 protected:
  void SetUp() override {
    folder = make_temp_folder();
    std::ofstream(folder / "s.yaml") << toy_yaml("s", kRanks, "tp: 2, pp: 2");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<std::string> words(const char* hang_after) const {
    return {"run", (folder / "s.yaml").string(), "--steps", kForLong, "--hang-after", hang_after};
  }

  /// Neither processes nor files, a little later.
  void expect_nothing_left(const StartedRun& run, const std::string& private_folder) const {
    EXPECT_TRUE(comes_true([&] { return run.processes().empty(); }));
    EXPECT_TRUE(comes_true([&] { return !fs::exists(private_folder); })) << private_folder;
    EXPECT_TRUE(fs::is_empty(folder / "tmp"));
  }

  fs::path folder;
};

class EndedRank : public EndedRun, public testing::WithParamInterface<int> {};

TEST_P(EndedRank, IsNamedWithItsOp) {
  StartedRun run(folder, words("60"));
  ASSERT_TRUE(comes_true([&] { return run.all_run(kRanks); })) << run.err();
  const std::string place = run.private_folder();
  kill(run.rank(GetParam(), kRanks), SIGKILL);
  EXPECT_EQ(run.wait(), 4);
  expect_contains(run.err(),
                  "error: rank " + std::to_string(GetParam()) + " was ended by signal 9 in step ");
  expect_contains(run.err(), ", call ");
  expect_contains(run.err(), "\n  rank 2: step ");
  expect_nothing_left(run, place);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EndedRank, testing::Values(0, 1, 3));

/// Open MPI 4.1 sometimes overlooks the death of a rank it has just started: the watch ends the
/// run.
TEST_F(EndedRun, ByTheDeathOfARankThatStarts) {
  StartedRun run(folder, words("5"));
  ASSERT_TRUE(comes_true([&] { return !run.private_folder().empty(); })) << run.err();
  const std::string place = run.private_folder();
  kill(run.processes("windtunnel-rank").front(), SIGKILL);
  EXPECT_EQ(run.wait(), 4);
  expect_contains(run.err(), "error: ");
  expect_contains(run.err(), "\n  rank 3: ");
  expect_nothing_left(run, place);
}

TEST_F(EndedRun, ByTheDeathOfTheLauncher) {
  StartedRun run(folder, words("60"));
  ASSERT_TRUE(comes_true([&] { return run.all_run(kRanks); })) << run.err();
  const std::string place = run.private_folder();
  const std::vector<pid_t> launcher = run.processes("mpirun");
  ASSERT_EQ(launcher.size(), 1U);
  kill(launcher[0], SIGKILL);
  EXPECT_EQ(run.wait(), 4);
  expect_contains(run.err(), "error: mpirun was ended by signal 9; its ranks were at");
  expect_contains(run.err(), "\n  rank 3: step ");
  expect_nothing_left(run, place);
}

class EndedProgram : public EndedRun, public testing::WithParamInterface<int> {};

TEST_P(EndedProgram, TakesItsRanksAlong) {
  StartedRun run(folder, words("60"));
  ASSERT_TRUE(comes_true([&] { return run.all_run(kRanks); })) << run.err();
  const std::string place = run.private_folder();
  kill(run.program(), GetParam());
  EXPECT_EQ(run.wait(), -GetParam());
  expect_nothing_left(run, place);
}

TEST_P(EndedProgram, TakesRanksAlongThatStart) {
  StartedRun run(folder, words("60"));
  ASSERT_TRUE(comes_true([&] { return !run.private_folder().empty(); })) << run.err();
  const std::string place = run.private_folder();
  kill(run.program(), GetParam());
  EXPECT_EQ(run.wait(), -GetParam());
  expect_nothing_left(run, place);
}

TEST_P(EndedProgram, TakesAlongALauncherThatStarts) {
  StartedRun run(folder, words("60"));
  ASSERT_TRUE(comes_true([&] { return !run.processes("mpirun").empty(); })) << run.err();
  kill(run.program(), GetParam());
  EXPECT_EQ(run.wait(), -GetParam());
  EXPECT_TRUE(comes_true([&] { return run.processes().empty(); }));
  EXPECT_TRUE(fs::is_empty(folder / "tmp"));
}

INSTANTIATE_TEST_SUITE_P(Signals, EndedProgram, testing::Values(SIGKILL, SIGTERM, SIGINT),
                         [](const auto& row) { return "signal_" + std::to_string(row.param); });

/// A calibration that is ended leaves whole samples to go on from, and no profile.
TEST_P(EndedProgram, CalibrationLeavesWholeSamples) {
  const std::string samples = (folder / "s.samples").string();
  const std::string profile = (folder / "p.profile.json").string();
  StartedRun run(folder, {"calibrate", "--for", (folder / "s.yaml").string(), "--budget", "600s",
                          "--samples", samples, "-o", profile});
  ASSERT_TRUE(comes_true([&] {
    std::ifstream in(samples);
    return std::count(std::istreambuf_iterator<char>(in), {}, '\n') > 3;
  })) << run.err();
  const std::string place = run.private_folder();
  kill(run.program(), GetParam());
  EXPECT_EQ(run.wait(), -GetParam());
  expect_nothing_left(run, place);
  EXPECT_FALSE(fs::exists(profile));
  const std::string text = read_file(samples);
  EXPECT_EQ(text.back(), '\n');
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().filename().string().find("p.profile.json."), std::string::npos);
  }
}

TEST_F(EndedRun, ByARankThatHangs) {
  StartedRun run(folder, words("5"));
  ASSERT_TRUE(comes_true([&] { return run.all_run(kRanks); })) << run.err();
  const std::string place = run.private_folder();
  kill(run.rank(0, kRanks), SIGSTOP);
  EXPECT_EQ(run.wait(), 4);
  expect_contains(run.err(), "error: no rank has finished an op for 5 s; they are at\n  rank 0: ");
  expect_contains(run.err(), "\n  rank 3: step ");
  expect_nothing_left(run, place);
}

}  // namespace
}  // namespace windtunnel
