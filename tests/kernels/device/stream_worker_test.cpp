#include "kernels/device/stream_worker.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace windtunnel {
namespace {

TEST(StreamWorker, RunsTasksInTheOrderTheyWereGiven) {
  std::vector<int> ran;
  {
    StreamWorker worker;
    for (int i = 0; i < 1000; ++i) {
      worker.give([&ran, i] { ran.push_back(i); });
    }
  }  // its end waits for what was given
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(ran, expected);
}

TEST(StreamWorker, RunsWhatATaskGives) {
  std::vector<int> ran;
  {
    StreamWorker worker;
    worker.give([&] {
      worker.give([&ran] { ran.push_back(2); });
      ran.push_back(1);
    });
  }
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(StreamWorker, EndsWithoutTasks) {
  StreamWorker worker;
}

}  // namespace
}  // namespace windtunnel
