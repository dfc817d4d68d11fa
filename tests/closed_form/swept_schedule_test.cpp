// Does a simulated pipeline equal its formula? Schedules that split backwards or place their chunks
// otherwise than in a loop, on device `unit`: scenario, lowering, engine.
//
// p stages, m micro-batches, v chunks per stage; F, I and W seconds per stage. Makespans, with no
// idle time but what is stated (Qi et al. 2023, 2401.10241; deepseek-ai/DualPipe):
//   bfs    m (F + B) + (p - 1)(F + B) / v
//   zb_h1  m (F + I + W) + (p - 1)(F + I - W) / v
//   zb_h2  m (F + I + W) + (p - 1) F              no idle time between a rank's first and last pass
//   zb_v   m (F + I + W) + (p - 1) F / 2          likewise

#include <gtest/gtest.h>

#include <algorithm>

#include "program/schedule_grid.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;

struct SweptCase {
  const char* name;  // also the test's
  UnitPipeline pipeline;
  double makespan;          // s
  std::vector<int> peaks;   // chunks in flight by rank, freed by their weight gradient
  bool contiguous = false;  // no rank is idle between its first and its last pass
};

std::ostream& operator<<(std::ostream& out, const SweptCase& c) {
  return out << c.name;
}

class SweptSchedules : public testing::TestWithParam<SweptCase> {};

TEST_P(SweptSchedules, EqualTheirFormula) {
  const SweptCase& c = GetParam();
  const Simulation s = simulate_unit(unit_scenario(c.pipeline));
  std::printf("%s: expected %.12g s, got %.12g s, deviation %.3g s\n", c.name, c.makespan,
              s.report.step_time_s, s.report.step_time_s - c.makespan);
  EXPECT_NEAR(s.report.step_time_s, c.makespan, kPicosecond);
  if (!c.peaks.empty()) {
    EXPECT_EQ(peak_in_flight(s.lowered.program), c.peaks);
  }
  if (!c.contiguous) return;
  const auto passes = schedule_passes(s.lowered.program);  // F, I and W are one slot each
  for (const std::vector<GridPass>& rank : passes) {
    for (std::size_t i = 1; i < rank.size(); ++i) EXPECT_EQ(rank[i].begin, rank[i - 1].end);
  }
}

std::string test_name(const testing::TestParamInfo<SweptCase>& instance) {
  return instance.param.name;
}

UnitPipeline split(UnitPipeline p, double input_grad, double weight_grad) {
  p.backward = input_grad + weight_grad;
  p.weight_grad = weight_grad;
  return p;
}

INSTANTIATE_TEST_SUITE_P(
    NoHops, SweptSchedules,
    testing::Values(
        SweptCase{"Oracle_O_098_bfs_p4_m8_v2", {"bfs", 4, 8, 2}, 28.5, {16, 16, 16, 16}},
        SweptCase{"Oracle_O_099_zb_h1_p4_m8", split({"zb_h1", 4, 8}, 1, 1), 27, {4, 4, 4, 4}},
        SweptCase{"Oracle_O_100_zb_h1_p8_m32", split({"zb_h1", 8, 32}, 1, 1), 103, {}},
        SweptCase{"Oracle_O_101_zb_h1_p4_m8_uneven", split({"zb_h1", 4, 8}, 1.2, 0.8), 28.2, {}},
        SweptCase{
            "Oracle_O_102_zb_h1_p4_m8_v2", split({"zb_h1", 4, 8, 2}, 1, 1), 25.5, {8, 8, 8, 8}},
        SweptCase{"Oracle_O_104_zb_h2_p4_m8", split({"zb_h2", 4, 8}, 1, 1), 27, {7, 7, 7, 7}, true},
        SweptCase{
            "Oracle_O_105_zb_v_p4_m8", split({"zb_v", 4, 8, 2}, 1, 1), 25.5, {8, 8, 8, 8}, true},
        SweptCase{"Oracle_O_106_zb_v_p8_m32",
                  split({"zb_v", 8, 32, 2}, 1, 1),
                  99.5,
                  {16, 16, 16, 16, 16, 16, 16, 16},
                  true},
        SweptCase{"Oracle_O_107_dualpipe_v_p4_m10",
                  split({"dualpipe_v", 4, 10, 2}, 1, 1),
                  33,
                  {9, 9, 9, 9}},
        SweptCase{"Oracle_O_110_dualpipe_p8_m20",
                  split({"dualpipe", 8, 20}, 1, 1),
                  66,
                  {9, 9, 9, 9, 9, 9, 9, 9}}),
    test_name);

}  // namespace
}  // namespace windtunnel::closed_form
