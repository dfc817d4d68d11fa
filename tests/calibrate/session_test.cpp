// One process measures a small program: is everything there that a simulation of it needs?

#include "calibrate/session.h"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <fstream>
#include <thread>

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

/// Ranks of one process that measure together.
class Pair {
 public:
  Together together(int rank) {
    return {.agreed =
                [this, rank](bool mine) {
                  if (rank == 0) said_ = mine;
                  barrier_.arrive_and_wait();
                  const bool said = said_;
                  barrier_.arrive_and_wait();
                  return said;
                },
            .meet = [this] { barrier_.arrive_and_wait(); }};
  }

 private:
  std::barrier<> barrier_{2};
  bool said_ = false;
};

constexpr std::int64_t kDevice = std::int64_t{1} << 30;

/// The keys of the kernels that each of two ranks has measured. `taken`: bytes of its device of a
/// GiB.
std::array<std::vector<std::string>, 2> measure_together(std::array<double, 2> budgets,
                                                         std::array<std::int64_t, 2> taken,
                                                         SampleFile& of_first) {
  const std::vector<Program> programs = {lower_scenario(scenario()).program};
  const MeasurementPlan plan = plan_measurements(programs, {});
  SampleFile of_second("", "here");
  std::array<SampleFile*, 2> files{&of_first, &of_second};
  Pair pair;
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      Anchor anchor;
      Sampler sampler(*files[r], anchor);
      CpuDevice device({.streams = 1, .capacity_bytes = kDevice});
      if (taken[r] > 0) device.allocate(taken[r], 0);
      measure_alone<float>(plan,
                           {.budget_s = budgets[r], .together = pair.together(static_cast<int>(r))},
                           device, sampler);
    });
  }
  for (std::thread& t : ranks) t.join();
  std::array<std::vector<std::string>, 2> keys;
  for (std::size_t r = 0; r < 2; ++r) {
    for (const Sample& s : files[r]->samples()) {
      if (s.kind == SampleKind::kernel) keys[r].push_back(key_of(s));
    }
  }
  return keys;
}

TEST(Session, RanksMeasureWhatTheFirstDecides) {
  SampleFile file("", "here");
  // The second would have time for the grid.
  const auto keys = measure_together({0.0, 1e9}, {0, 0}, file);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_GT(keys[0].size(), 15U);
  // What the first holds, the second does not measure either.
  const auto again = measure_together({0.0, 0.0}, {0, 0}, file);
  EXPECT_EQ(again[0], keys[0]);
  EXPECT_TRUE(again[1].empty());
}

TEST(Session, ARankWithoutMemoryHoldsNobodyUp) {
  SampleFile file("", "here");
  const auto keys = measure_together({0.0, 0.0}, {0, kDevice - (1 << 20)}, file);
  EXPECT_GT(keys[0].size(), 15U);
  EXPECT_LT(keys[1].size(), keys[0].size());
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
