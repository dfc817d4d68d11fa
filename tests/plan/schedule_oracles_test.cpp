// Do the lists of the schedules take the time and the memory that is known of them? Makespan, idle
// time and chunks in flight of published and enumerated pipelines; times in units of the table they
// come from, without transfers. The simulated program is compared in tests/closed_form.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/plan/schedule_sweep.h"

namespace windtunnel::schedules {
namespace {

constexpr double kTicksPerUnit = 100;  // all times below are whole in hundredths

/// Units a pass of one chunk takes; not stated: not run.
struct Units {
  double forward = 0, backward = 0, input_grad = 0, weight_grad = 0, pair = 0;
};

struct OracleCase {
  const char* name;
  ScheduleKind kind;
  ScheduleShape shape;
  Units units;
  double makespan;
  double idle = -1;             // of the rank that is idle longest; -1: not stated
  std::vector<int> peaks = {};  // by rank, or one of all; empty: not stated
  double stagger = -1;  // rank r starts r times this after rank 0, and is busy from then to its end
};

std::ostream& operator<<(std::ostream& out, const OracleCase& c) {
  return out << c.name;
}

std::int64_t ticks(double units) {
  return std::llround(units * kTicksPerUnit);
}

void expect_units(const std::string& what, double expected, std::int64_t got) {
  const double units = static_cast<double>(got) / kTicksPerUnit;
  std::printf("%s: expected %.12g, got %.12g, deviation %.3g\n", what.c_str(), expected, units,
              units - expected);
  EXPECT_EQ(got, ticks(expected)) << what;
}

class Lists : public testing::TestWithParam<OracleCase> {};

TEST_P(Lists, TakeTheirTimeAndMemory) {
  const OracleCase& c = GetParam();
  const ScheduleRow& row = schedule_row(c.kind);
  ASSERT_EQ(refusal(row, c.shape), std::nullopt);
  const Sweep s = sweep(lists_of(row, c.shape), {.forward = ticks(c.units.forward),
                                                 .backward = ticks(c.units.backward),
                                                 .input_grad = ticks(c.units.input_grad),
                                                 .weight_grad = ticks(c.units.weight_grad),
                                                 .pair = ticks(c.units.pair)});
  ASSERT_FALSE(s.deadlock);
  const std::string name = c.name;
  expect_units(name, c.makespan, s.makespan);
  std::int64_t idle = 0;
  for (std::size_t r = 0; r < s.ranks.size(); ++r) {
    idle = std::max(idle, s.idle(r));
    const std::string rank = ", rank " + std::to_string(r);
    if (c.stagger >= 0) {
      const double start = c.stagger * static_cast<double>(r);
      expect_units(name + rank + " starts", start, s.ranks[r].first);
      EXPECT_EQ(s.ranks[r].last - s.ranks[r].first, s.ranks[r].busy) << name << rank;
    }
    if (!c.peaks.empty()) {
      const int expected = c.peaks[std::min(r, c.peaks.size() - 1)];
      std::printf("%s%s: expected %d in flight, got %d\n", c.name, rank.c_str(), expected,
                  s.ranks[r].peak);
      EXPECT_EQ(s.ranks[r].peak, expected) << name << rank;
    }
  }
  if (c.idle >= 0) expect_units(name + ", idle", c.idle, idle);
}

std::string name_of(const testing::TestParamInfo<OracleCase>& info) {
  return info.param.name;
}

using K = ScheduleKind;

ScheduleShape interleaved(int pp, int m, int v, int group) {
  return {.pp = pp, .virtual_stages = v, .micro_batches = m, .micro_batch_group = group};
}

constexpr Units kFull{.forward = 1, .backward = 2};
constexpr Units kHalf{.forward = 0.5, .backward = 1};
constexpr Units kQuarter{.forward = 0.25, .backward = 0.5};
constexpr Units kSplit{.forward = 1, .input_grad = 1, .weight_grad = 1};
constexpr Units kSplitHalf{.forward = 0.5, .input_grad = 0.5, .weight_grad = 0.5};
constexpr Units kWovenHalf{
    .forward = 0.5, .backward = 1, .input_grad = 0.5, .weight_grad = 0.5, .pair = 1.5};
constexpr Units kWoven{.forward = 1, .backward = 2, .input_grad = 1, .weight_grad = 1, .pair = 3};
constexpr Units kWovenFaster{
    .forward = 1, .backward = 2, .input_grad = 1, .weight_grad = 1, .pair = 2.5};

INSTANTIATE_TEST_SUITE_P(
    WholeBackwards, Lists,
    testing::Values(
        OracleCase{"OracleO_085_gpipe_p4_m8", K::gpipe, interleaved(4, 8, 1, 1), kFull, 33, 9, {8}},
        OracleCase{"OracleO_086_1f1b_p4_m8",
                   K::one_f_one_b,
                   interleaved(4, 8, 1, 1),
                   kFull,
                   33,
                   9,
                   {4, 3, 2, 1}},
        OracleCase{"OracleO_087_1f1b_p8_m32", K::one_f_one_b, interleaved(8, 32, 1, 1), kFull, 117,
                   21},
        OracleCase{"OracleO_088_1f1b_p2_m3",
                   K::one_f_one_b,
                   interleaved(2, 3, 1, 1),
                   kFull,
                   12,
                   3,
                   {2, 1}},
        OracleCase{"OracleO_089_1f1b_p4_m8_full_recompute",
                   K::one_f_one_b,
                   interleaved(4, 8, 1, 1),
                   {.forward = 1, .backward = 3},
                   44},
        OracleCase{"OracleO_090_interleaved_p4_m8_v2",
                   K::interleaved_1f1b,
                   interleaved(4, 8, 2, 4),
                   kHalf,
                   28.5,
                   4.5,
                   {11, 9, 7, 5}},
        OracleCase{"OracleO_091_interleaved_p8_m32_v2",
                   K::interleaved_1f1b,
                   interleaved(8, 32, 2, 8),
                   kHalf,
                   106.5,
                   10.5,
                   {23, 21, 19, 17, 15, 13, 11, 9}},
        OracleCase{"OracleO_092_interleaved_p4_m8_v4",
                   K::interleaved_1f1b,
                   interleaved(4, 8, 4, 4),
                   kQuarter,
                   26.25,
                   2.25,
                   {19, 17, 15, 13}},
        OracleCase{"OracleO_093_interleaved_p2_m4_v2",
                   K::interleaved_1f1b,
                   interleaved(2, 4, 2, 2),
                   kHalf,
                   13.5,
                   1.5,
                   {5, 3}},
        OracleCase{"OracleO_094_interleaved_p4_m12_v2_N6",
                   K::interleaved_1f1b,
                   interleaved(4, 12, 2, 6),
                   kHalf,
                   40.5,
                   -1,
                   {13, 11, 9, 7}},
        OracleCase{"OracleO_095_interleaved_p4_m8_v2_one_more",
                   K::interleaved_1f1b,
                   {.pp = 4,
                    .virtual_stages = 2,
                    .micro_batches = 8,
                    .micro_batch_group = 4,
                    .extra_warm_up = 1},
                   kHalf,
                   28.5,
                   -1,
                   {12, 10, 8, 6}},
        OracleCase{
            "OracleO_098_bfs_p4_m8_v2", K::bfs, interleaved(4, 8, 2, 1), kHalf, 28.5, 4.5, {16}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    SplitBackwards, Lists,
    testing::Values(
        OracleCase{
            "OracleO_099_zb_h1_p4_m8", K::zb_h1, interleaved(4, 8, 1, 1), kSplit, 27, 3, {4}},
        OracleCase{
            "OracleO_100_zb_h1_p8_m32", K::zb_h1, interleaved(8, 32, 1, 1), kSplit, 103, 7, {8}},
        OracleCase{"OracleO_101_zb_h1_p4_m8_uneven",
                   K::zb_h1,
                   interleaved(4, 8, 1, 1),
                   {.forward = 1, .input_grad = 1.2, .weight_grad = 0.8},
                   28.2,
                   4.2,
                   {4}},
        OracleCase{"OracleO_102_zb1p_p4_m8_v2",
                   K::zb_h1,
                   interleaved(4, 8, 2, 4),
                   kSplitHalf,
                   25.5,
                   1.5,
                   {8}},
        OracleCase{
            "OracleO_104_zb_h2_p4_m8", K::zb_h2, interleaved(4, 8, 1, 1), kSplit, 27, 3, {7}, 1},
        OracleCase{"OracleO_105_zb_v_p4_m8",
                   K::zb_v,
                   interleaved(4, 8, 2, 1),
                   kSplitHalf,
                   25.5,
                   1.5,
                   {8},
                   0.5},
        OracleCase{"OracleO_106_zb_v_p8_m32",
                   K::zb_v,
                   interleaved(8, 32, 2, 1),
                   kSplitHalf,
                   99.5,
                   3.5,
                   {16},
                   0.5},
        OracleCase{"OracleO_107_dualpipe_v_p4_m10",
                   K::dualpipe_v,
                   interleaved(4, 10, 2, 1),
                   kWovenHalf,
                   33,
                   3,
                   {9}},
        OracleCase{"OracleO_108_dualpipe_v_p4_m10_faster_pairs",
                   K::dualpipe_v,
                   interleaved(4, 10, 2, 1),
                   kWovenFaster,
                   59,
                   4.5,
                   {9}},
        OracleCase{"OracleO_110_dualpipe_p8_m20",
                   K::dualpipe,
                   interleaved(8, 20, 1, 1),
                   kWoven,
                   66,
                   6,
                   {9}},
        OracleCase{"OracleO_110_dualpipe_p8_m20_faster_pairs",
                   K::dualpipe,
                   interleaved(8, 20, 1, 1),
                   kWovenFaster,
                   59,
                   4.5,
                   {9}}),
    name_of);

}  // namespace
}  // namespace windtunnel::schedules
