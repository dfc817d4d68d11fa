// A scenario on device `cpu` with a profile made by hand: step time by the closed form of 1F1B,
// memory shared by the ranks, measured overlap in place of the GPU's, missing prices named.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "planning/pricing.h"
#include "planning/simulate.h"
#include "scenarios/loader.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

const std::string kData = std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/planning/data/";

// The hand-made profile gives transfers and the head 1 ps each: some hundreds in a step.
constexpr double kPicosecondOps = 1e-9;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Scenario scenario() {
  return load_scenarios(kData + "cpu_pp2.yaml").scenarios.front();
}

/// The scenario with an edited profile.
struct Edited {
  std::filesystem::path folder = make_temp_folder();
  Scenario s = scenario();

  Edited(const std::string& from, const std::string& to) {
    std::string text = read(kData + "cpu.profile.json");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    s.profile = (folder / "edited.json").string();
    std::ofstream(s.profile) << text;
  }
  ~Edited() { std::filesystem::remove_all(folder); }
};

TEST(CalibratedProfile, StepTimeIsTheClosedForm) {
  // A stage has two layers of four products of 1 ms: F = 8 ms, B = 16 ms; 1F1B takes
  // (m + p - 1) (F + B) = 9 * 24 ms.
  const StepReport report = simulate(scenario(), {.draws = 0}).report;
  EXPECT_NEAR(report.step_time_s, 0.216, kPicosecondOps);
  EXPECT_NEAR(report.stages.at(0).gemm, 8 * 0.024, kPicosecondOps);
  EXPECT_NEAR(report.breakdown.bubble, 0.024, kPicosecondOps);
}

TEST(CalibratedProfile, RanksShareTheMachinesMemory) {
  const MemoryAnswer memory = check(scenario()).memory;
  EXPECT_EQ(memory.capacity_bytes, std::int64_t{1} << 30);  // 2 GiB, two ranks
  EXPECT_EQ(memory.verdict, Verdict::fits);
  const Edited small("\"value\": 2147483648", "\"value\": 4194304");
  EXPECT_EQ(check(small.s).memory.verdict, Verdict::oom);
}

TEST(CalibratedProfile, SaysWhatIsMeasured) {
  const StepReport report = simulate(scenario(), {}).report;
  bool transfers = false;
  for (const std::string& origin : report.origins) {
    transfers |= origin.find("shared_memory") != std::string::npos &&
                 origin.find("measured (made by hand") != std::string::npos;
  }
  EXPECT_TRUE(transfers);
}

TEST(CalibratedProfile, LaunchesAreThoseMeasured) {
  // A launch of 1 s binds: the host's issue of all kernels is longer than the device's work.
  const Edited slow("\"kernel_launch\": {\n   \"value\": 0.0",
                    "\"kernel_launch\": {\n   \"value\": 1.0");
  EXPECT_GT(simulate(slow.s, {.draws = 0}).report.step_time_s, 100.0);
}

TEST(CalibratedProfile, IsNamedWhenItIsNotThere) {
  Scenario s = scenario();
  s.profile = "/nonexistent/cpu.profile.json";
  try {
    check(s);
    FAIL() << "checked without a profile";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu_pp2.yaml:6"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("there is no file"), std::string::npos);
  }
}

TEST(CalibratedProfile, MissingKernelIsNamed) {
  const Edited without("\"flash_fwd\"", "\"softmax_fwd\"");
  try {
    simulate(without.s, {});
    FAIL() << "priced a kernel without a price";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no time of flash_fwd of fp32"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("calibrate --for"), std::string::npos);
  }
}

TEST(CalibratedProfile, MissingTransfersAreNamed) {
  const Edited without("", "");
  std::string text = read(kData + "cpu.profile.json");
  const std::size_t at = text.find("\"collectives\": [");
  text = text.substr(0, at) + "\"collectives\": []\n}\n";
  std::ofstream(without.s.profile) << text;
  try {
    simulate(without.s, {});
    FAIL() << "priced transfers without a curve";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no time of transfers"), std::string::npos)
        << error.what();
  }
}

TEST(CalibratedProfile, MeasuredOverlapReplacesTheGpus) {
  const Lowered lowered = lower_scenario(scenario());
  struct Free final : CostModel {
    OpCost cost(const Shape&) const override { return {}; }
    OpCost collective(const CollectiveQuery&) const override { return {}; }
    OpCost host(HostItem) const override { return {}; }
    double class_sigma(CostClass) const override { return 0.0; }
    std::string source_text(std::uint16_t) const override { return ""; }
  } const model;
  const Cluster& cluster = lowered.resolved.scenario.cluster;
  const auto theft_of = [&](const PricingOptions& options) {
    return price(lowered.program, model, cluster, options).costs.theft;
  };
  const auto gemm = static_cast<std::size_t>(KernelClass::gemm);
  const auto memory = static_cast<std::size_t>(KernelClass::memory);
  const auto reduce = static_cast<std::size_t>(TransferKind::all_reduce);
  const auto hop = static_cast<std::size_t>(TransferKind::point_to_point);
  EXPECT_EQ(theft_of({}).compute[gemm][reduce], 0.189);
  const Theft measured =
      theft_of({.overlap = OverlapFigures{.compute_beside_collective = {{KernelClass::gemm, 0.4}},
                                          .collective_beside_compute = 0.7}});
  EXPECT_EQ(measured.compute[gemm][reduce], 0.4);
  EXPECT_EQ(measured.compute[gemm][hop], 0.4);
  EXPECT_EQ(measured.compute[memory][reduce], 0.0);
  EXPECT_EQ(measured.transfer[reduce], 0.7);
  EXPECT_EQ(theft_of({.overlap = OverlapFigures{}}).compute[gemm][reduce], 0.0);
}

}  // namespace
}  // namespace windtunnel
