// Does the sweep that judges the schedules judge right? Lists short enough to time by hand.

#include "tests/plan/schedule_sweep.h"

#include <gtest/gtest.h>

namespace windtunnel::schedules {
namespace {

using Kind = ScheduleAction::Kind;

constexpr PassCosts kCosts{
    .forward = 1, .backward = 5, .input_grad = 3, .weight_grad = 2, .pair = 4};

const ScheduleAction kForward{.kind = Kind::forward};
const ScheduleAction kBackward{.kind = Kind::backward};
const ScheduleAction kInputGrad{.kind = Kind::input_grad};
const ScheduleAction kWeightGrad{.kind = Kind::weight_grad};

Sweep of_two_ranks(std::vector<ScheduleAction> first, std::vector<ScheduleAction> last) {
  return sweep({.placement = ChunkPlacement::loop,
                .shape = {.pp = 2, .micro_batches = 1},
                .ranks = {std::move(first), std::move(last)}},
               kCosts);
}

TEST(ScheduleSweep, WaitsForTheNeighboursPasses) {
  const Sweep s = of_two_ranks({kForward, kBackward}, {kForward, kBackward});
  EXPECT_FALSE(s.deadlock);
  EXPECT_EQ(s.makespan, 1 + 1 + 5 + 5);
  EXPECT_EQ(s.ranks[1].first, 1);
  EXPECT_EQ(s.ranks[1].last, 7);
  EXPECT_EQ(s.idle(1), 12 - 6);
}

TEST(ScheduleSweep, AnInputGradientFreesTheRankBeforeAWeightGradientDoesNot) {
  const Sweep s =
      of_two_ranks({kForward, kInputGrad, kWeightGrad}, {kForward, kInputGrad, kWeightGrad});
  EXPECT_EQ(s.ranks[1].last, 1 + 1 + 3 + 2);
  EXPECT_EQ(s.ranks[0].last, 1 + 1 + 3 + 3 + 2);
}

TEST(ScheduleSweep, OfAPairBothStartAndEndTogether) {
  // Rank 1 (chunks 1 and 2 of a V of 2 ranks) weaves the forward of micro-batch 1 on chunk 1 with
  // the backward of micro-batch 0 on chunk 2.
  const PipelineLists lists{
      .placement = ChunkPlacement::v_shape,
      .shape = {.pp = 2, .virtual_stages = 2, .micro_batches = 2},
      .ranks = {{{.kind = Kind::forward, .chunk = 0, .micro_batch = 0},
                 {.kind = Kind::forward, .chunk = 0, .micro_batch = 1},
                 {.kind = Kind::forward, .chunk = 1, .micro_batch = 0},
                 {.kind = Kind::backward, .chunk = 1, .micro_batch = 0}},
                {{.kind = Kind::forward, .chunk = 0, .micro_batch = 0},
                 {.kind = Kind::forward, .chunk = 1, .micro_batch = 0},
                 {.kind = Kind::forward, .chunk = 0, .micro_batch = 1, .overlaps_next = true},
                 {.kind = Kind::backward, .chunk = 1, .micro_batch = 0}}}};
  const Sweep s = sweep(lists, kCosts);
  EXPECT_FALSE(s.deadlock);
  EXPECT_EQ(s.ranks[0].last, 1 + 1 + 1 + 1 + 5);
  EXPECT_EQ(s.ranks[1].last, 9 + 4);  // the backward waits for chunk 3's on rank 0
  EXPECT_EQ(s.ranks[1].busy, 1 + 1 + 4);
  EXPECT_EQ(s.ranks[1].peak, 3);
}

TEST(ScheduleSweep, FindsDeadlocks) {
  EXPECT_TRUE(of_two_ranks({kForward, kBackward}, {kBackward, kForward}).deadlock);
  EXPECT_TRUE(of_two_ranks({kForward, kBackward}, {kForward}).deadlock);
  EXPECT_TRUE(of_two_ranks({kForward, kInputGrad, kWeightGrad}, {kForward, kWeightGrad, kInputGrad})
                  .deadlock);
}

}  // namespace
}  // namespace windtunnel::schedules
