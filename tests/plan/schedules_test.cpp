// Are the orders those of the frameworks? Lists of whole ranks, word for word. F forward, B
// backward, I input gradient, W weight gradient, then chunk along the model and micro-batch; &
// joins what is woven together.

#include <gtest/gtest.h>

#include "plan/schedules/interleaved_1f1b.h"
#include "plan/schedules/schedule.h"

namespace windtunnel {
namespace {

std::string text(ScheduleKind kind, const ScheduleShape& shape, int rank) {
  const ScheduleRow& row = schedule_row(kind);
  std::string s, separator;
  for (const ScheduleAction& a : row.actions(shape, rank)) {
    const int global = global_chunk(row.placement, shape, {.rank = rank, .chunk = a.chunk});
    s += separator + "FBIW"[static_cast<int>(a.kind)] + std::to_string(global) + "." +
         std::to_string(a.micro_batch);
    separator = a.overlaps_next ? "&" : " ";
  }
  return s;
}

// Reference for the orders: NVIDIA/Megatron-LM core/pipeline_parallel/schedules.py.

TEST(Schedules, OneFOneBOfFourRanks) {
  const ScheduleShape shape{.pp = 4, .micro_batches = 4};
  constexpr auto kind = ScheduleKind::one_f_one_b;
  EXPECT_EQ(text(kind, shape, 0), "F0.0 F0.1 F0.2 F0.3 B0.0 B0.1 B0.2 B0.3");
  EXPECT_EQ(text(kind, shape, 1), "F1.0 F1.1 F1.2 B1.0 F1.3 B1.1 B1.2 B1.3");
  EXPECT_EQ(text(kind, shape, 2), "F2.0 F2.1 B2.0 F2.2 B2.1 F2.3 B2.2 B2.3");
  EXPECT_EQ(text(kind, shape, 3), "F3.0 B3.0 F3.1 B3.1 F3.2 B3.2 F3.3 B3.3");
}

TEST(Schedules, InterleavedOfTwoRanks) {
  const ScheduleShape shape{
      .pp = 2, .virtual_stages = 2, .micro_batches = 4, .micro_batch_group = 2};
  constexpr auto kind = ScheduleKind::interleaved_1f1b;
  EXPECT_EQ(text(kind, shape, 0),
            "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3");
  EXPECT_EQ(text(kind, shape, 1),
            "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3");
}

TEST(Schedules, OracleO_096_InterleavedWarmUp) {
  const ScheduleShape shape{
      .pp = 8, .virtual_stages = 4, .micro_batches = 64, .micro_batch_group = 8};
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_EQ(interleaved_1f1b_warm_up(shape, rank), 38 - 2 * rank);
}

TEST(Schedules, OracleO_097_InterleavedTable) {
  std::string micro_batches, chunks;
  for (const ScheduleAction& a : interleaved_forward_order(
           {.pp = 2, .virtual_stages = 2, .micro_batches = 5, .micro_batch_group = 3})) {
    micro_batches += std::to_string(a.micro_batch);
    chunks += std::to_string(a.chunk);
  }
  EXPECT_EQ(micro_batches, "0120123434");
  EXPECT_EQ(chunks, "0001110011");
}

// pytorch/pytorch torch/distributed/pipelining/schedules.py.
TEST(Schedules, BreadthFirstOfTwoRanks) {
  const ScheduleShape shape{.pp = 2, .virtual_stages = 2, .micro_batches = 3};
  EXPECT_EQ(text(ScheduleKind::bfs, shape, 1),
            "F1.0 F1.1 F1.2 F3.0 F3.1 F3.2 B3.2 B3.1 B3.0 B1.2 B1.1 B1.0");
}

TEST(Schedules, ZeroBubbleH1OfFourRanks) {
  const ScheduleShape shape{.pp = 4, .micro_batches = 4};
  constexpr auto kind = ScheduleKind::zb_h1;
  EXPECT_EQ(text(kind, shape, 0), "F0.0 F0.1 F0.2 F0.3 I0.0 W0.0 I0.1 W0.1 I0.2 W0.2 I0.3 W0.3");
  EXPECT_EQ(text(kind, shape, 3), "F3.0 I3.0 F3.1 I3.1 F3.2 I3.2 F3.3 I3.3 W3.0 W3.1 W3.2 W3.3");
}

// pytorch/pytorch test/distributed/pipelining/artifacts/zb1p_2rank_2stagep_compute.csv.
TEST(Schedules, OracleO_103_ZeroBubbleOfTwoRanksAndTwoChunks) {
  const ScheduleShape shape{
      .pp = 2, .virtual_stages = 2, .micro_batches = 8, .micro_batch_group = 2};
  EXPECT_EQ(text(ScheduleKind::zb_h1, shape, 0),
            "F0.0 F0.1 F2.0 F2.1 I2.0 W2.0 F0.2 I2.1 W2.1 F0.3 I0.0 W0.0 F2.2 I0.1 W0.1 F2.3 "
            "I2.2 W2.2 F0.4 I2.3 W2.3 F0.5 I0.2 W0.2 F2.4 I0.3 W0.3 F2.5 I2.4 W2.4 F0.6 I2.5 "
            "W2.5 F0.7 I0.4 W0.4 F2.6 I0.5 W0.5 F2.7 I2.6 W2.6 I2.7 W2.7 I0.6 W0.6 I0.7 W0.7");
  EXPECT_EQ(text(ScheduleKind::zb_h1, shape, 1),
            "F1.0 F1.1 F3.0 I3.0 F3.1 I3.1 W3.0 F1.2 I1.0 W3.1 F1.3 I1.1 W1.0 F3.2 I3.2 W1.1 "
            "F3.3 I3.3 W3.2 F1.4 I1.2 W3.3 F1.5 I1.3 W1.2 F3.4 I3.4 W1.3 F3.5 I3.5 W3.4 F1.6 "
            "I1.4 W3.5 F1.7 I1.5 W1.4 F3.6 I3.6 W1.5 F3.7 I3.7 W3.6 I1.6 W3.7 I1.7 W1.6 W1.7");
}

TEST(Schedules, ZeroBubbleH2OfFourRanks) {
  const ScheduleShape shape{.pp = 4, .micro_batches = 8};
  constexpr auto kind = ScheduleKind::zb_h2;
  EXPECT_EQ(text(kind, shape, 0),
            "F0.0 F0.1 F0.2 F0.3 F0.4 F0.5 F0.6 I0.0 W0.0 F0.7 I0.1 W0.1 I0.2 W0.2 I0.3 W0.3 I0.4 "
            "W0.4 I0.5 W0.5 I0.6 W0.6 I0.7 W0.7");
  EXPECT_EQ(text(kind, shape, 3),
            "F3.0 I3.0 F3.1 I3.1 F3.2 I3.2 F3.3 I3.3 F3.4 I3.4 F3.5 I3.5 F3.6 I3.6 W3.0 F3.7 I3.7 "
            "W3.1 W3.2 W3.3 W3.4 W3.5 W3.6 W3.7");
}

// pytorch/pytorch torch/distributed/pipelining/schedules.py, ScheduleZBVZeroBubble.
TEST(Schedules, ZeroBubbleVOfTwoRanks) {
  const ScheduleShape shape{.pp = 2, .virtual_stages = 2, .micro_batches = 4};
  EXPECT_EQ(text(ScheduleKind::zb_v, shape, 0),
            "F0.0 F0.1 F0.2 F3.0 I3.0 W3.0 F3.1 I3.1 W3.1 F0.3 I0.0 W0.0 F3.2 I3.2 W3.2 I0.1 W0.1 "
            "F3.3 I3.3 W3.3 I0.2 W0.2 I0.3 W0.3");
  EXPECT_EQ(text(ScheduleKind::zb_v, shape, 1),
            "F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 F1.2 I1.0 W1.0 F2.2 I2.1 W2.1 F1.3 I1.1 W1.1 F2.3 I2.2 "
            "W2.2 I1.2 I2.3 I1.3 W1.2 W2.3 W1.3");
}

TEST(Schedules, ZeroBubbleVOfFewMicroBatchesLeavesOutTheOthers) {
  const ScheduleShape shape{.pp = 2, .virtual_stages = 2, .micro_batches = 1};
  EXPECT_EQ(text(ScheduleKind::zb_v, shape, 0), "F0.0 F3.0 I3.0 W3.0 I0.0 W0.0");
  EXPECT_EQ(text(ScheduleKind::zb_v, shape, 1), "F1.0 F2.0 I2.0 W2.0 I1.0 W1.0");
}

// pytorch/pytorch test/distributed/pipelining/artifacts/dualpipev_4rank_10mb.csv.
TEST(Schedules, OracleO_109_DualPipeVOfFourRanks) {
  const ScheduleShape shape{.pp = 4, .virtual_stages = 2, .micro_batches = 10};
  const char* const expected[] = {
      "F0.0 F0.1 F0.2 F0.3 F0.4 F0.5 F0.6 F7.0 I7.0 W7.0 F7.1 I7.1 W7.1 F7.2 I7.2 W7.2 "
      "F7.3 F0.7&B7.3 F7.4&B0.0 F0.8&B7.4 F7.5&B0.1 F0.9&B7.5 F7.6&B0.2 B7.6 F7.7&B0.3 "
      "B7.7 F7.8&B0.4 B7.8 F7.9&B0.5 B7.9 I0.6 W0.6 I0.7 W0.7 I0.8 W0.8 I0.9 W0.9",
      "F1.0 F1.1 F1.2 F1.3 F1.4 F6.0 F1.5 F6.1 I6.0 W6.0 F6.2 I6.1 W6.1 F6.3 F1.6&B6.2 "
      "F6.4&B1.0 F1.7&B6.3 F6.5&B1.1 F1.8&B6.4 F6.6&B1.2 F1.9&B6.5 F6.7&B1.3 B6.6 "
      "F6.8&B1.4 B6.7 F6.9&B1.5 B6.8 B1.6 I6.9 I1.7 W6.9 I1.8 W1.7 I1.9 W1.8 W1.9",
      "F2.0 F2.1 F2.2 F5.0 F2.3 F5.1 F2.4 F5.2 I5.0 W5.0 F5.3 F2.5&B5.1 F5.4&B2.0 "
      "F2.6&B5.2 F5.5&B2.1 F2.7&B5.3 F5.6&B2.2 F2.8&B5.4 F5.7&B2.3 F2.9&B5.5 F5.8&B2.4 "
      "B5.6 F5.9&B2.5 B5.7 B2.6 B5.8 I2.7 I5.9 I2.8 W2.7 I2.9 W5.9 W2.8 W2.9",
      "F3.0 F4.0 F3.1 F4.1 F3.2 F4.2 F3.3 F4.3 F3.4 B4.0 F4.4&B3.0 F3.5&B4.1 F4.5&B3.1 "
      "F3.6&B4.2 F4.6&B3.2 F3.7&B4.3 F4.7&B3.3 F3.8&B4.4 F4.8&B3.4 F3.9&B4.5 F4.9&B3.5 "
      "B4.6 B3.6 B4.7 B3.7 I4.8 I3.8 I4.9 I3.9 W4.8 W3.8 W4.9 W3.9"};
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(text(ScheduleKind::dualpipe_v, shape, rank), expected[rank]) << "rank " << rank;
}

// deepseek-ai/DualPipe dualpipe/dualpipe.py, its counts worked out by hand.
TEST(Schedules, DualPipeMirrorsItsHalves) {
  const ScheduleShape shape{.pp = 4, .micro_batches = 8};
  constexpr auto kind = ScheduleKind::dualpipe;
  EXPECT_EQ(text(kind, shape, 0),
            "F0.0 F0.1 F0.2 F3.4 I3.4 W3.4 F3.5 F0.3&B3.5 F3.6&B0.0 B3.6 F3.7&B0.1 B3.7 "
            "I0.2 W0.2 I0.3 W0.3");
  EXPECT_EQ(text(kind, shape, 1),
            "F1.0 F2.4 F1.1 F2.5 F1.2 B2.4 F2.6&B1.0 F1.3&B2.5 F2.7&B1.1 B2.6 B1.2 "
            "I2.7 I1.3 W2.7 W1.3");
  EXPECT_EQ(text(kind, shape, 2),
            "F1.4 F2.0 F1.5 F2.1 F1.6 B2.0 F2.2&B1.4 F1.7&B2.1 F2.3&B1.5 B2.2 B1.6 "
            "I2.3 I1.7 W2.3 W1.7");
  EXPECT_EQ(text(kind, shape, 3),
            "F0.4 F0.5 F0.6 F3.0 I3.0 W3.0 F3.1 F0.7&B3.1 F3.2&B0.4 B3.2 F3.3&B0.5 B3.3 "
            "I0.6 W0.6 I0.7 W0.7");
}

}  // namespace
}  // namespace windtunnel
