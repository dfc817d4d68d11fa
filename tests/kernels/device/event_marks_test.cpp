#include "kernels/device/event_marks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace windtunnel {
namespace {

TEST(EventMarks, AWaitBindsToTheLatestRecordWhenIssued) {
  EventMarks marks(2);
  EXPECT_EQ(marks.latest(0), 0);
  EXPECT_EQ(marks.issue(0), 1);
  const std::int64_t early = marks.latest(0);
  EXPECT_EQ(marks.issue(0), 2);
  EXPECT_EQ(early, 1);
  EXPECT_EQ(marks.latest(0), 2);
  EXPECT_EQ(marks.latest(1), 0);  // events are apart
  marks.reach(0, 1);
  marks.await(0, early);  // does not wait for the second record
}

TEST(EventMarks, NeverRecordedDoesNotWait) {
  EventMarks marks(1);
  marks.await(0, marks.latest(0));
}

TEST(EventMarks, AHigherMarkCountsForLowerOnes) {
  EventMarks marks(1);
  marks.issue(0);
  marks.issue(0);
  marks.reach(0, 2);  // another stream was faster
  marks.await(0, 1);
  marks.reach(0, 1);
  marks.await(0, 2);  // and is not taken back
}

TEST(EventMarks, AWaitEndsWithItsRecordAndNotBefore) {
  constexpr int kTries = 200;  // whether a wait that ends early is seen is up to the scheduler
  for (int i = 0; i < kTries; ++i) {
    EventMarks marks(1);
    marks.issue(0);
    marks.issue(0);
    std::atomic<bool> waits{false}, reached{false}, seen{false};
    std::thread waiter([&] {
      waits = true;
      marks.await(0, 2);
      seen = reached.load();
    });
    while (!waits) std::this_thread::yield();
    marks.reach(0, 1);
    std::this_thread::yield();
    reached = true;
    marks.reach(0, 2);
    waiter.join();
    EXPECT_TRUE(seen);
  }
}

}  // namespace
}  // namespace windtunnel
