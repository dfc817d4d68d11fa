// One process measures a small program: is everything there that a simulation of it needs?

#include "calibrate/session.h"

#include <gtest/gtest.h>

#include <fstream>

#include "calibrate/build_profile.h"
#include "kernels/device/cpu_device.h"
#include "models/cost/calibrated_json.h"
#include "tests/calibrate/measure/programs.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

const char* const kScenario =
    "model: {layers: 1, hidden: 16, ffn: 32, heads: 2, vocab: 32}\n"
    "cluster: {device: cpu, devices_per_node: 1, nodes: 1}\n"
    "batch: {global: 2, micro: 1, sequence: 8}\n"
    "plan: {precision: {compute: fp32}}\n";

Scenario scenario() {
  return load_scenarios_text(kScenario, "test.yaml").scenarios.front();
}

/// The samples that a budget of no time leaves: what is measured in any case.
void measure_least(SampleFile& file) {
  const std::vector<Program> programs = {lower_scenario(scenario()).program};
  Anchor anchor;
  Sampler sampler(file, anchor);
  CpuDevice device({.streams = 1});
  int reported = 0;
  measure_alone<double>(plan_measurements(programs, {}),
                        {.budget_s = 0.0,
                         .report =
                             [&](const SessionProgress& p) {
                               ++reported;
                               EXPECT_LE(p.done, p.planned);
                             }},
                        device, sampler);
  EXPECT_GT(reported, 0);
}

TEST(Session, TheLeastThatIsMeasuredPricesTheScenario) {
  SampleFile file("", "here");
  measure_least(file);
  const Profile profile =
      build_profile(file.samples(), {}, {.id = "t", .date = "d", .memory_bytes = 1e9});
  const std::filesystem::path folder = make_temp_folder();
  Scenario s = scenario();
  s.profile = (folder / "p.json").string();
  std::ofstream(s.profile) << calibrated_profile_text(profile);
  const StepReport report = simulate(s, {}).report;
  std::filesystem::remove_all(folder);
  EXPECT_GT(report.step_time_s, 0.0);
  EXPECT_GT(report.mfu, 0.0);
  EXPECT_EQ(report.memory.capacity_bytes, 1'000'000'000);
}

TEST(Session, WhatIsThereIsNotMeasuredAgain) {
  SampleFile file("", "here");
  measure_least(file);
  std::vector<double> first;
  for (const Sample& s : file.samples()) first.push_back(s.seconds);
  EXPECT_GT(first.size(), 15U);
  measure_least(file);
  ASSERT_EQ(file.samples().size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(file.samples()[i].seconds, first[i]);
}

TEST(Sampler, PutsTheAnchorsAround) {
  SampleFile file("", "here");
  Anchor anchor;
  Sampler sampler(file, anchor);
  const Sample wanted{.kind = SampleKind::launch};
  EXPECT_TRUE(sampler.take(wanted, [](Sample& s) { s.seconds = 1.0; }));
  EXPECT_FALSE(sampler.take(wanted, [](Sample&) { FAIL() << "measured twice"; }));
  EXPECT_GT(file.samples().front().before.flops_per_s, 0.0);
  EXPECT_GT(file.samples().front().after.bytes_per_s, 0.0);
}

TEST(Sampler, AMeasurementThatFailsAddsNothing) {
  SampleFile file("", "here");
  Anchor anchor;
  Sampler sampler(file, anchor);
  EXPECT_THROW(
      sampler.take({.kind = SampleKind::launch}, [](Sample&) { throw std::runtime_error("no"); }),
      std::runtime_error);
  EXPECT_TRUE(file.samples().empty());
}

}  // namespace
}  // namespace windtunnel
