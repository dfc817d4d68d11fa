#include "plan/call_order.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

std::string text(const std::vector<IssuedCall>& calls) {
  std::string s;
  for (const IssuedCall& c : calls) {
    constexpr const char* kNames[] = {"rf", "F", "sf", "wf", "rb", "B", "I", "sb", "wb", "W"};
    s += (s.empty() ? "" : " ") + std::string(c.grouped ? "+" : "") +
         kNames[static_cast<int>(c.call)] + std::to_string(c.micro_batch);
  }
  return s;
}

PipelineOrder one_f_one_b(int pp, int m) {
  return {.shape = {.pp = pp, .micro_batches = m, .micro_batch_group = pp},
          .kind = ScheduleKind::one_f_one_b};
}

TEST(CallOrder, BlockingBatchesASendWithTheNextReceive) {
  // NVIDIA/Megatron-LM: send_forward_recv_backward and send_backward_recv_forward in the steady
  // state.
  EXPECT_EQ(text(issue_order(one_f_one_b(2, 3), 0)), "F0 sf0 F1 rb0 +sf1 B0 F2 rb1 +sf2 B1 rb2 B2");
  EXPECT_EQ(text(issue_order(one_f_one_b(2, 3), 1)), "rf0 F0 B0 rf1 +sb0 F1 B1 rf2 +sb1 F2 B2 sb2");
}

TEST(CallOrder, OneByOneSendsActivationsBeforeGradients) {
  // microsoft/DeepSpeed runtime/pipe/schedule.py, TrainSchedule.
  PipelineOrder order = one_f_one_b(2, 3);
  order.batched = false;
  EXPECT_EQ(text(issue_order(order, 1)), "rf0 F0 B0 rf1 sb0 F1 B1 rf2 sb1 F2 B2 sb2");
}

TEST(CallOrder, AsynchronousPostsReceivesOneActionAhead) {
  PipelineOrder order = one_f_one_b(2, 2);
  order.asynchronous = true;
  EXPECT_EQ(text(issue_order(order, 0)), "F0 sf0 rb0 F1 wf0 sf1 rb1 B0 B1 wf1");
  EXPECT_EQ(text(issue_order(order, 1)), "rf0 F0 rf1 B0 sb0 F1 B1 wb0 sb1 wb1");
}

}  // namespace
}  // namespace windtunnel
