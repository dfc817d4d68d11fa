#include "report/compare_limits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/report/compared_steps.h"

namespace windtunnel {
namespace {

/// What is over the limits when B's step, or one of its terms, is longer.
std::vector<Violation> over(const CompareLimits& limits, double step, double tp, double input) {
  StepReport b = sample_report();  // 13.75 s, tp 2 s, input 0 s
  b.step_time_s += step;
  b.breakdown.exposed_comm.tp += tp;
  b.breakdown.input += input;
  return violations_of(compare_steps(sample_report(), b), limits);
}

TEST(CompareLimits, WithoutLimitsNothingIsOver) {
  EXPECT_TRUE(over({}, 100.0, 100.0, 100.0).empty());
  EXPECT_FALSE(CompareLimits{}.any());
  EXPECT_EQ(limits_text({}), "");
}

TEST(CompareLimits, AStepExactlyAtTheLimitIsWithinIt) {
  const CompareLimits limits{.step_error = 0.1};
  EXPECT_TRUE(over(limits, 1.375, 0, 0).empty());
  EXPECT_TRUE(over(limits, -1.375, 0, 0).empty());
  constexpr double kBeyond = 1.375 * (1 + 1e-9);
  for (const double step : {kBeyond, -kBeyond}) EXPECT_EQ(over(limits, step, 0, 0).size(), 1U);
  EXPECT_EQ(over(limits, 2.75, 0, 0).front().limit, "--max-step-error 10%");
  EXPECT_EQ(over(limits, 2.75, 0, 0).front().detail, "step_time 16.5 s against 13.75 s, +20.0 %");
}

TEST(CompareLimits, ALimitOfZeroAsksForEquality) {
  EXPECT_TRUE(over({.step_error = 0.0}, 0.0, 0, 0).empty());
  EXPECT_EQ(over({.step_error = 0.0}, 1e-12, 0, 0).size(), 1U);
}

TEST(CompareLimits, ATermMayBeOffByItsShareOrTheFloorWhicheverIsLarger) {
  // Of itself: half of 2 s is more than 3 % of 13.75 s.
  const CompareLimits half{.term_error = 0.5};
  EXPECT_TRUE(over(half, 0, 1.0, 0).empty());
  EXPECT_EQ(over(half, 0, 1.001, 0).size(), 1U);
  // Of the step: 3 % of 13.75 s is 0.4125 s, more than a tenth of 2 s.
  const CompareLimits tenth{.term_error = 0.1};
  EXPECT_TRUE(over(tenth, 0, 0.4125, 0).empty());
  EXPECT_EQ(over(tenth, 0, 0.413, 0).size(), 1U);
  // A term that A has not is held to the floor alone.
  EXPECT_TRUE(over(tenth, 0, 0, 0.4125).empty());
  EXPECT_EQ(over(tenth, 0, 0, 0.413).front().detail, "input +413 ms (new)");
  // Another floor.
  const CompareLimits strict{.term_error = 0.1, .term_floor = 0.0};
  EXPECT_TRUE(over(strict, 0, 0.2, 0).empty());
  EXPECT_EQ(over(strict, 0, 0.201, 0).size(), 1U);
}

TEST(CompareLimits, OneLineNamesAllTermsThatAreOver) {
  const auto found = over({.term_error = 0.1}, 0, 1.0, 1.0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().limit, "--max-term-error 10% (--term-floor 3%)");
  EXPECT_EQ(found.front().detail, "exposed_comm tp +1 s (+50.0 %), input +1 s (new)");
}

std::string detail_of(const CompareLimits& limits, const StepReport& a, const StepReport& b) {
  const auto found = violations_of(compare_steps(a, b), limits);
  return found.empty() ? "within" : found.front().detail;
}

TEST(CompareLimits, ExactMemoryCountsWhatTheAllocatorHolds) {
  const CompareLimits exact{.exact_memory = true};
  StepReport b = sample_report();
  EXPECT_EQ(detail_of(exact, sample_report(), b), "within");
  b.memory.stages[0].by_category.back().second += 1;  // context: outside the allocator
  b.memory.stages[0].peak_reserved_bytes += 1;
  b.memory.stages[0].peak_device_bytes += 1;
  EXPECT_EQ(detail_of(exact, sample_report(), b), "within");
  b.memory.stages[2].peak_allocated_bytes += 1;
  EXPECT_EQ(detail_of(exact, sample_report(), b), "stage 2: peak allocated +1 bytes");
  b.memory.stages[2].by_category[0].second += 1;
  b.memory.stages[3].by_category.pop_back();
  b.memory.stages[3].by_category.pop_back();  // workspace
  EXPECT_EQ(detail_of(exact, sample_report(), b), "stage 2: peak allocated +1 bytes (and 2 more)");
}

TEST(CompareLimits, ExactTrafficCountsCallsElementsAndBytes) {
  const CompareLimits exact{.exact_traffic = true};
  EXPECT_EQ(detail_of(exact, sample_report(), sample_report()), "within");
  for (std::int64_t TrafficRow::*field :
       {&TrafficRow::count, &TrafficRow::elements, &TrafficRow::bytes}) {
    StepReport b = sample_report();
    b.traffic[1].*field += 1;
    EXPECT_NE(detail_of(exact, sample_report(), b), "within");
  }
  StepReport none = sample_report();
  none.traffic.pop_back();
  EXPECT_EQ(detail_of(exact, sample_report(), none),
            "stage 0: send on pp_fwd -8 calls, -25,165,824 elements, -50,331,648 bytes");
}

TEST(CompareLimits, WhatCannotBeComparedIsOver) {
  StepReport none = sample_report();
  none.memory = {};
  const CompareLimits memory{.exact_memory = true}, traffic{.exact_traffic = true};
  EXPECT_EQ(detail_of(memory, sample_report(), none), "B states no memory");
  EXPECT_EQ(detail_of(memory, none, sample_report()), "A states no memory");
  EXPECT_EQ(detail_of(memory, none, none), "neither side states memory");
  StepReport fewer = sample_report();
  fewer.stages.pop_back();
  EXPECT_EQ(detail_of(memory, sample_report(), fewer),
            "A has 4 pipeline stages, B 3: not comparable stage by stage");
  EXPECT_EQ(detail_of(traffic, sample_report(), fewer),
            "A has 4 pipeline stages, B 3: not comparable stage by stage");
  StepReport partly = sample_report();
  partly.memory.stages.pop_back();
  EXPECT_EQ(detail_of(memory, sample_report(), partly),
            "only one side states the memory of some stages");
}

TEST(CompareLimits, TheLimitsReadAsTheirOptions) {
  EXPECT_EQ(limits_text({.step_error = 0.1,
                         .term_error = 0.075,
                         .term_floor = 0.01,
                         .exact_memory = true,
                         .exact_traffic = true}),
            "--max-step-error 10%, --max-term-error 7.5% (--term-floor 1%), --exact-memory, "
            "--exact-traffic");
}

}  // namespace
}  // namespace windtunnel
