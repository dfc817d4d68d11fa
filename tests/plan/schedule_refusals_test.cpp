// Are shapes refused that a schedule cannot run, with a reason a user understands, and no others?

#include <gtest/gtest.h>

#include "plan/schedules/schedule.h"

namespace windtunnel {
namespace {

using K = ScheduleKind;

std::string reason(K kind, const ScheduleShape& shape) {
  return refusal(schedule_row(kind), shape).value_or("");
}

ScheduleShape plain(int pp, int m) {
  return {.pp = pp, .micro_batches = m};
}

ScheduleShape chunks(int pp, int m, int v, int group) {
  return {.pp = pp, .virtual_stages = v, .micro_batches = m, .micro_batch_group = group};
}

TEST(ScheduleRefusals, OfAnotherNumberOfChunks) {
  EXPECT_EQ(reason(K::gpipe, chunks(4, 8, 2, 4)), "gpipe runs one chunk per device, not 2");
  EXPECT_EQ(reason(K::one_f_one_b, chunks(4, 8, 2, 4)), "1f1b runs one chunk per device, not 2");
  EXPECT_EQ(reason(K::zb_h2, chunks(4, 8, 2, 4)), "zb_h2 runs one chunk per device, not 2");
  EXPECT_EQ(reason(K::dualpipe, chunks(4, 8, 2, 4)), "dualpipe runs one chunk per device, not 2");
  EXPECT_EQ(reason(K::zb_v, plain(4, 8)), "zb_v runs 2 chunks per device, not 1");
  EXPECT_EQ(reason(K::dualpipe_v, chunks(4, 8, 3, 4)),
            "dualpipe_v runs 2 chunks per device, not 3");
}

TEST(ScheduleRefusals, OneChunkPerDeviceRunsAnyMicroBatches) {
  for (const K kind : {K::gpipe, K::one_f_one_b, K::bfs, K::zb_h1, K::zb_h2}) {
    for (int m = 1; m < 10; ++m) EXPECT_EQ(reason(kind, plain(4, m)), "");
  }
}

TEST(ScheduleRefusals, OfInterleavedGroups) {
  // NVIDIA/Megatron-LM: a group in [p, m]; the last one whole or of at least p.
  EXPECT_EQ(reason(K::interleaved_1f1b, chunks(4, 8, 2, 4)), "");
  EXPECT_EQ(reason(K::interleaved_1f1b, chunks(4, 10, 2, 6)), "");
  EXPECT_EQ(reason(K::interleaved_1f1b, chunks(4, 10, 2, 4)),
            "interleaving 10 micro-batches in groups of 4 is refused by the schedule: a group lies "
            "in [pp, micro-batches] and the last is 0 or >= pp");
  EXPECT_NE(reason(K::interleaved_1f1b, chunks(4, 2, 2, 4)), "");
  EXPECT_NE(reason(K::interleaved_1f1b, chunks(4, 8, 2, 2)), "");
}

TEST(ScheduleRefusals, OfZeroBubbleGroups) {
  // pytorch/pytorch: whole groups, all micro-batches in one when there are fewer than p.
  EXPECT_EQ(reason(K::zb_h1, chunks(4, 8, 2, 4)), "");
  EXPECT_EQ(reason(K::zb_h1, chunks(4, 10, 2, 5)), "");
  EXPECT_EQ(reason(K::zb_h1, chunks(4, 3, 2, 3)), "");
  EXPECT_EQ(reason(K::zb_h1, chunks(4, 10, 2, 4)),
            "interleaving 10 micro-batches in groups of 4 is refused by the schedule: a group "
            "divides the micro-batches and is all of them or at least pp");
  EXPECT_NE(reason(K::zb_h1, chunks(4, 10, 2, 6)), "");
  EXPECT_NE(reason(K::zb_h1, chunks(4, 8, 2, 2)), "");
}

TEST(ScheduleRefusals, OfTooFewMicroBatchesForPairs) {
  // deepseek-ai/DualPipe and pytorch/pytorch.
  EXPECT_EQ(reason(K::dualpipe_v, chunks(4, 8, 2, 1)), "");
  EXPECT_EQ(reason(K::dualpipe_v, chunks(4, 9, 2, 1)), "");
  EXPECT_EQ(reason(K::dualpipe_v, chunks(4, 7, 2, 1)),
            "dualpipe_v needs at least 2 pp = 8 micro-batches, as many as the model has chunks, "
            "not 7");
  EXPECT_EQ(reason(K::dualpipe, plain(4, 8)), "");
  EXPECT_EQ(reason(K::dualpipe, plain(3, 8)),
            "dualpipe pairs the pipeline's first ranks with its last: pp 3 is odd");
  const std::string even =
      "dualpipe needs an even number of micro-batches, at least 2 pp = 8, not ";
  EXPECT_EQ(reason(K::dualpipe, plain(4, 6)), even + "6");
  EXPECT_EQ(reason(K::dualpipe, plain(4, 9)), even + "9");
}

TEST(ScheduleRefusals, ZeroBubbleVRunsFewMicroBatches) {
  for (int m = 1; m < 10; ++m) EXPECT_EQ(reason(K::zb_v, chunks(4, m, 2, 1)), "");
}

}  // namespace
}  // namespace windtunnel
