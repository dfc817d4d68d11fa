// Does a simulated pipeline equal its formula? Makespan, idle time and chunks in flight of the
// schedules on device `unit`: scenario, lowering, engine. p stages, m micro-batches, v chunks per
// stage; F and B seconds per stage, c per hop.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

// A report holds seconds as doubles made of whole picoseconds: only that conversion rounds.
constexpr double kPicosecond = 1e-12;

struct ScheduleCase {
  const char* name;  // also the test's
  UnitPipeline pipeline;
  double makespan;              // s
  double idle = -1;             // s, of every rank; -1: not stated
  std::vector<int> peaks = {};  // chunks in flight by rank; empty: not stated
};

std::ostream& operator<<(std::ostream& out, const ScheduleCase& c) {
  return out << c.name;
}

class Schedules : public testing::TestWithParam<ScheduleCase> {};

void expect_seconds(const std::string& what, double expected, double got) {
  std::printf("%s: expected %.12g s, got %.12g s, deviation %.3g s\n", what.c_str(), expected, got,
              got - expected);
  EXPECT_NEAR(got, expected, kPicosecond) << what;
}

void expect_case(const ScheduleCase& c, const UnitPipeline& pipeline) {
  const Simulation s = simulate_unit(unit_scenario(pipeline));
  const std::string name = std::string(c.name) + (pipeline.asynchronous ? "" : ", blocking");
  expect_seconds(name, c.makespan, s.report.step_time_s);
  ASSERT_EQ(s.report.stages.size(), static_cast<std::size_t>(pipeline.pp));
  for (std::size_t stage = 0; stage < s.report.stages.size() && c.idle >= 0; ++stage) {
    const Breakdown& b = s.report.stages[stage];
    expect_seconds(name + ", idle of rank " + std::to_string(stage), c.idle,
                   s.report.step_time_s - b.compute);
    expect_seconds(name + ", bubble of rank " + std::to_string(stage), c.idle, b.bubble);
  }
  if (!c.peaks.empty()) {
    const std::vector<int> got = peak_in_flight(s.lowered.program);
    for (std::size_t r = 0; r < got.size(); ++r)
      std::printf("%s, in flight on rank %zu: expected %d got %d\n", name.c_str(), r, c.peaks[r],
                  got[r]);
    EXPECT_EQ(got, c.peaks);
  }
}

TEST_P(Schedules, EqualTheirFormula) {
  const ScheduleCase& c = GetParam();
  expect_case(c, c.pipeline);
  if (c.pipeline.hop > 0) return;
  // Transfers that take no time cannot block.
  UnitPipeline blocking = c.pipeline;
  blocking.asynchronous = false;
  expect_case(c, blocking);
}

std::string test_name(const testing::TestParamInfo<ScheduleCase>& instance) {
  return instance.param.name;
}

// Rank r of interleaving holds min(w + 1, m v) chunks, w = 2 (p - r - 1) + (v - 1) N: Narayanan et
// al. 2021 (2104.04473) and NVIDIA/Megatron-LM core/pipeline_parallel/schedules.py. Makespans:
// (m + p - 1)(F + B) and m (F + B) + (p - 1)(F + B) / v.
INSTANTIATE_TEST_SUITE_P(
    NoHops, Schedules,
    testing::Values(
        ScheduleCase{"Oracle_O_085_gpipe_p4_m8", {"gpipe", 4, 8}, 33, 9, {8, 8, 8, 8}},
        ScheduleCase{"Oracle_O_086_1f1b_p4_m8", {"1f1b", 4, 8}, 33, 9, {4, 3, 2, 1}},
        ScheduleCase{"Oracle_O_087_1f1b_p8_m32", {"1f1b", 8, 32}, 117, 21},
        ScheduleCase{"Oracle_O_088_1f1b_p2_m3", {"1f1b", 2, 3}, 12, 3, {2, 1}},
        ScheduleCase{"Oracle_O_089_1f1b_p4_m8_full_recompute",
                     {.schedule = "1f1b", .pp = 4, .micro_batches = 8, .recompute = "full"},
                     44,
                     12},
        ScheduleCase{"Oracle_O_090_interleaved_p4_m8_v2",
                     {"interleaved_1f1b", 4, 8, 2},
                     28.5,
                     4.5,
                     {11, 9, 7, 5}},
        ScheduleCase{"Oracle_O_091_interleaved_p8_m32_v2",
                     {"interleaved_1f1b", 8, 32, 2},
                     106.5,
                     10.5,
                     {23, 21, 19, 17, 15, 13, 11, 9}},
        ScheduleCase{"Oracle_O_092_interleaved_p4_m8_v4",
                     {"interleaved_1f1b", 4, 8, 4},
                     26.25,
                     2.25,
                     {19, 17, 15, 13}},
        ScheduleCase{
            "Oracle_O_093_interleaved_p2_m4_v2", {"interleaved_1f1b", 2, 4, 2}, 13.5, 1.5, {5, 3}},
        ScheduleCase{"Oracle_O_094_interleaved_p4_m12_v2_N6",
                     {"interleaved_1f1b", 4, 12, 2, 6},
                     40.5,
                     4.5,
                     {13, 11, 9, 7}}),
    test_name);

UnitPipeline with_hop(UnitPipeline p, double hop) {
  p.hop = hop;
  return p;
}

// Each hop adds c and blocks nothing. GPipe: + 2 (p - 1) c. 1F1B: + c (2 (p - 1) m / p + 2 p - 4)
// for p | m. Interleaved: + 2 (p v - 1) c; larger groups N hide the per-group part.
INSTANTIATE_TEST_SUITE_P(
    Hops, Schedules,
    testing::Values(ScheduleCase{"Oracle_O_112_gpipe_p4_m8", with_hop({"gpipe", 4, 8}, 0.1), 33.6},
                    ScheduleCase{"Oracle_O_113_1f1b_p4_m8", with_hop({"1f1b", 4, 8}, 0.1), 34.6},
                    ScheduleCase{"Oracle_O_114_1f1b_p8_m32", with_hop({"1f1b", 8, 32}, 0.25),
                                 134.0},
                    ScheduleCase{"Oracle_O_115_interleaved_p4_m8_v2",
                                 with_hop({"interleaved_1f1b", 4, 8, 2}, 0.1), 29.9},
                    ScheduleCase{"Oracle_O_116_interleaved_p4_m24_v2_N4",
                                 with_hop({"interleaved_1f1b", 4, 24, 2, 4}, 0.1), 77.9},
                    ScheduleCase{"Oracle_O_116_interleaved_p4_m24_v2_N5",
                                 with_hop({"interleaved_1f1b", 4, 24, 2, 5}, 0.1), 77.5},
                    ScheduleCase{"Oracle_O_116_interleaved_p4_m24_v2_N6",
                                 with_hop({"interleaved_1f1b", 4, 24, 2, 6}, 0.1), 77.1},
                    ScheduleCase{"Oracle_O_116_interleaved_p4_m24_v2_N8",
                                 with_hop({"interleaved_1f1b", 4, 24, 2, 8}, 0.1), 77.1}),
    test_name);

UnitPipeline with_slow_stage(UnitPipeline p, int stage) {
  p.stage_scale = {{stage, 1.5}};
  return p;
}

// One stage takes 1.5 times as long.
INSTANTIATE_TEST_SUITE_P(UnevenStages, Schedules,
                         testing::Values(ScheduleCase{"Oracle_O_117_1f1b_p4_m8_last_slow",
                                                      with_slow_stage({"1f1b", 4, 8}, 3), 45},
                                         ScheduleCase{"Oracle_O_117_1f1b_p4_m16_last_slow",
                                                      with_slow_stage({"1f1b", 4, 16}, 3), 81},
                                         ScheduleCase{"Oracle_O_118_1f1b_p4_m8_first_slow",
                                                      with_slow_stage({"1f1b", 4, 8}, 0), 40.5},
                                         ScheduleCase{"Oracle_O_118_1f1b_p4_m16_first_slow",
                                                      with_slow_stage({"1f1b", 4, 16}, 0), 76.5}),
                         test_name);

// (p - 1) / (m + p - 1) of the step; with v chunks ((p - 1) / v) / (m + (p - 1) / v).
TEST(BubbleFraction, Oracle_O_119_p8_m64) {
  constexpr double kStatedDigits = 1e-5;  // the fractions are stated to five digits
  constexpr double kRounding = 1e-12;     // sums of a few doubles
  const auto fraction = [](const UnitPipeline& pipeline) {
    const StepReport report = simulate_unit(unit_scenario(pipeline)).report;
    return report.breakdown.bubble / report.step_time_s;
  };
  const double one = fraction({"1f1b", 8, 64}), two = fraction({"interleaved_1f1b", 8, 64, 2});
  expect_relative("O-119", 0.098592, one, kStatedDigits);
  expect_relative("O-119 closed form", 7.0 / 71.0, one, kRounding);
  expect_relative("O-119 v 2", 0.051852, two, kStatedDigits);
  expect_relative("O-119 v 2 closed form", 3.5 / 67.5, two, kRounding);
}

// A forward again before each backward is one F more per micro-batch: (F + F + B) / (F + B) = 4/3
// on one device, where nothing waits.
TEST(Recompute, Oracle_O_029_full_recompute_of_a_step) {
  const StepReport plain = simulate_unit(unit_scenario({"1f1b", 1, 8})).report;
  UnitPipeline full{"1f1b", 1, 8};
  full.recompute = "full";
  const StepReport again = simulate_unit(unit_scenario(full)).report;
  expect_seconds("O-029 without recompute", 24.0, plain.step_time_s);
  expect_seconds("O-029 with", 32.0, again.step_time_s);
}

}  // namespace
}  // namespace windtunnel::closed_form
