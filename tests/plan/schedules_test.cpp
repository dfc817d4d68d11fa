#include <gtest/gtest.h>

#include <map>

#include "plan/schedules/interleaved_1f1b.h"
#include "plan/schedules/one_f_one_b.h"
#include "plan/schedules/schedule.h"

namespace windtunnel {
namespace {

using Kind = ScheduleAction::Kind;

std::string text(const std::vector<ScheduleAction>& actions) {
  std::string s;
  for (const ScheduleAction& a : actions) {
    s += (s.empty() ? "" : " ") + std::string(a.kind == Kind::forward ? "F" : "B") +
         std::to_string(a.chunk) + "." + std::to_string(a.micro_batch);
  }
  return s;
}

// Reference for the orders: NVIDIA/Megatron-LM core/pipeline_parallel/schedules.py.

TEST(Schedules, OneFOneBOfFourRanks) {
  const ScheduleShape shape{.pp = 4, .micro_batches = 4};
  EXPECT_EQ(text(one_f_one_b_actions(shape, 0)), "F0.0 F0.1 F0.2 F0.3 B0.0 B0.1 B0.2 B0.3");
  EXPECT_EQ(text(one_f_one_b_actions(shape, 1)), "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  EXPECT_EQ(text(one_f_one_b_actions(shape, 3)), "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2 F0.3 B0.3");
}

TEST(Schedules, InterleavedOfTwoRanks) {
  const ScheduleShape shape{
      .pp = 2, .virtual_stages = 2, .micro_batches = 4, .micro_batch_group = 2};
  EXPECT_EQ(text(interleaved_1f1b_actions(shape, 0)),
            "F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3");
  EXPECT_EQ(text(interleaved_1f1b_actions(shape, 1)),
            "F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 B0.2 B0.3");
}

TEST(Schedules, EveryRankRunsEveryMicroBatchOnceForwardThenBackward) {
  for (const ScheduleRow& row : schedule_table()) {
    for (const int v : {1, 3}) {
      if (v > 1 && row.kind != ScheduleKind::interleaved_1f1b) continue;
      const ScheduleShape shape{
          .pp = 4, .virtual_stages = v, .micro_batches = 9, .micro_batch_group = 5};
      for (int rank = 0; rank < shape.pp; ++rank) {
        std::map<std::pair<int, int>, int> state;
        for (const ScheduleAction& a : row.actions(shape, rank)) {
          int& done = state[{a.chunk, a.micro_batch}];
          EXPECT_EQ(done, a.kind == Kind::forward ? 0 : 1) << row.name;
          ++done;
        }
        EXPECT_EQ(state.size(), static_cast<std::size_t>(9 * v)) << row.name;
        for (const auto& [key, done] : state) EXPECT_EQ(done, 2) << row.name;
      }
    }
  }
}

TEST(Schedules, OracleO_096_InterleavedWarmUp) {
  const ScheduleShape shape{
      .pp = 8, .virtual_stages = 4, .micro_batches = 64, .micro_batch_group = 8};
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_EQ(interleaved_1f1b_warm_up(shape, rank), 38 - 2 * rank);
}

}  // namespace
}  // namespace windtunnel
