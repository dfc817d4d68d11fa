#include "report/bottleneck.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace windtunnel {
namespace {

using Class = BottleneckClass;

struct Case {
  const char* name;
  Breakdown breakdown;
  Class label, runner_up;
  const char* cause;
};

TEST(Bottleneck, TheLargestClassIsTheLabel) {
  const Case cases[] = {
      {"matrix products",
       {.compute = 8, .bubble = 2, .gemm = 7, .attention = 1},
       Class::compute,
       Class::bubble,
       "matrix products"},
      {"memory-bound kernels are their own class",
       {.compute = 10, .bubble = 1, .gemm = 4, .memory_bound = 6},
       Class::memory,
       Class::compute,
       "memory-bound kernels"},
      {"groups add up to one class",
       {.compute = 3, .exposed_comm = {.tp = 1, .pp = 1, .dp = 2}, .gemm = 3},
       Class::exposed_comm,
       Class::compute,
       "dp"},
      {"host and input are one class",
       {.compute = 3, .host = 2, .input = 2, .gemm = 3},
       Class::host,
       Class::compute,
       "kernel launches"},
      {"input alone",
       {.compute = 3, .host = 1, .input = 4, .gemm = 3},
       Class::host,
       Class::compute,
       "data loading"},
      {"bubble and stragglers are one class",
       {.compute = 3, .bubble = 2, .straggler = 3, .gemm = 3},
       Class::bubble,
       Class::compute,
       "stragglers"},
      {"unit device: compute of no kind",
       {.compute = 24, .bubble = 9},
       Class::compute,
       Class::bubble,
       "other compute"},
  };
  for (const Case& c : cases) {
    const Bottleneck found = find_bottleneck(c.breakdown);
    EXPECT_EQ(name_of(found.label), name_of(c.label)) << c.name;
    EXPECT_EQ(name_of(found.runner_up), name_of(c.runner_up)) << c.name;
    EXPECT_STREQ(found.cause, c.cause) << c.name;
    EXPECT_STRNE(found.lever, "") << c.name;
  }
}

TEST(Bottleneck, SharesAreOfTheWholeStep) {
  const Bottleneck found = find_bottleneck({.compute = 6, .bubble = 2, .gemm = 6});
  EXPECT_DOUBLE_EQ(found.label_share, 0.75);
  EXPECT_DOUBLE_EQ(found.runner_up_share, 0.25);
}

TEST(Bottleneck, EqualSharesTakeTheFirstClass) {
  const Bottleneck found = find_bottleneck({.compute = 2, .bubble = 2, .gemm = 2});
  EXPECT_EQ(found.label, Class::compute);
  EXPECT_EQ(found.runner_up, Class::bubble);
}

TEST(Bottleneck, AnEmptyStepHasNoShares) {
  const Bottleneck found = find_bottleneck({});
  EXPECT_EQ(found.label_share, 0.0);
  EXPECT_EQ(found.runner_up_share, 0.0);
}

TEST(Bottleneck, CausesCoverTheWholeBreakdownOnce) {
  const Breakdown b{.compute = 10,
                    .exposed_comm = {.tp = 1, .pp = 2, .dp = 3, .cp = 4, .ep = 5},
                    .bubble = 6,
                    .straggler = 7,
                    .host = 8,
                    .input = 9,
                    .gemm = 5,
                    .attention = 2,
                    .memory_bound = 1};
  double sum = 0.0;
  for (const BottleneckCause& cause : bottleneck_causes()) sum += cause.seconds(b);
  EXPECT_DOUBLE_EQ(sum, 10 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9);
}

TEST(Bottleneck, EveryCauseHasALeverOfItsOwn) {
  std::set<std::string> levers;
  for (const BottleneckCause& cause : bottleneck_causes()) {
    EXPECT_TRUE(levers.insert(cause.lever).second) << cause.name;
  }
}

}  // namespace
}  // namespace windtunnel
