// The replay against closed forms and against itself without skipping.

#include "sim/memory/replay.h"

#include <gtest/gtest.h>

#include <string>

#include "models/allocator/allocator_rules.h"
#include "sim/memory/call_period.h"
#include "tests/sim/memory/tiny_pipeline.h"

namespace windtunnel {
namespace {

using test::TinyPipeline;
using Order = TinyPipeline::Order;

ReplayResult replay(const Program& program, ReplaySettings settings = {}) {
  return replay_memory(program, 0, settings);
}

std::int64_t category(const ReplayResult& result, Category c) {
  return result.by_category[static_cast<std::size_t>(c)];
}

TEST(Replay, OneF1BHoldsPMinusRFrames) {
  constexpr std::int64_t kFrame = 32 * kMiB, kWeights = 100 * kMiB;
  constexpr int kStages = 4;
  for (int rank = 0; rank < kStages; ++rank) {
    const auto result = replay(test::tiny_pipeline({.statics = {kWeights},
                                                    .kept = {kFrame},
                                                    .micro_batches = 16,
                                                    .pp = kStages,
                                                    .rank = rank}));
    const std::int64_t expected = kWeights + (kStages - rank) * kFrame;
    EXPECT_EQ(result.peak.allocated, expected) << "rank " << rank;
    EXPECT_EQ(result.peak.reserved, expected);
    EXPECT_EQ(result.startup.allocated, kWeights);
    EXPECT_EQ(category(result, Category::activations), (kStages - rank) * kFrame);
    EXPECT_EQ(category(result, Category::weights), kWeights);
    EXPECT_EQ(result.rounding_bytes, 0);
  }
}

TEST(Replay, InterleavingHoldsWarmUpPlusOneChunks) {
  // min(2(p-r-1) + (v-1)N + 1, mv) frames; p 4, m 8, v 2, N 4: 11, 9, 7, 5 (oracle O-048's rule).
  constexpr std::int64_t kFrame = 32 * kMiB;
  const int expected[] = {11, 9, 7, 5};
  for (int rank = 0; rank < 4; ++rank) {
    const auto result = replay(test::tiny_pipeline({.statics = {kMiB},
                                                    .kept = {kFrame},
                                                    .chunks = 2,
                                                    .micro_batches = 8,
                                                    .pp = 4,
                                                    .rank = rank,
                                                    .group = 4,
                                                    .order = Order::interleaved}));
    EXPECT_EQ(category(result, Category::activations), expected[rank] * kFrame) << rank;
  }
}

TEST(Replay, AllForwardHoldsEveryMicroBatch) {
  const auto result = replay(test::tiny_pipeline(
      {.kept = {32 * kMiB}, .micro_batches = 8, .pp = 4, .order = Order::all_forward}));
  EXPECT_EQ(category(result, Category::activations), 8 * 32 * kMiB);
}

TEST(Replay, NamesTheMomentAndTheContributors) {
  const auto result = replay(test::tiny_pipeline(
      {.statics = {700}, .kept = {3000, 5000}, .scratch = {100}, .micro_batches = 8, .pp = 3}));
  EXPECT_EQ(result.peak_moment.step, 0);
  EXPECT_EQ(result.peak_moment.call, 2);  // third forward of the warm-up
  EXPECT_EQ(result.peak_moment.phase, Phase::forward);
  EXPECT_EQ(result.peak_moment.micro_batch, 2);
  ASSERT_EQ(result.contributors.size(), 4U);
  EXPECT_EQ(result.contributors[0].name, "kept 1");
  EXPECT_EQ(result.contributors[0].bytes, 3 * 5000);
  EXPECT_EQ(result.contributors[0].instances, 3);
  EXPECT_EQ(result.contributors[3].name, "scratch 0");
  const std::int64_t sum = 700 + 3 * 8000 + 100;
  EXPECT_EQ(result.peak.allocated, 1024 + 3 * (3072 + 5120) + 512);
  EXPECT_EQ(result.rounding_bytes, result.peak.allocated - sum);
  EXPECT_EQ(result.peak.reserved, 2 * kMiB);
}

TEST(Replay, FirstStepAllocationsRaiseTheLaterSteps) {
  const auto result = replay(test::tiny_pipeline({.statics = {10 * kMiB},
                                                  .kept = {40 * kMiB},
                                                  .optimizer_states = 64 * kMiB,
                                                  .micro_batches = 4,
                                                  .pp = 2}));
  EXPECT_EQ(result.startup.allocated, 10 * kMiB);
  EXPECT_EQ(result.first_step.allocated, 90 * kMiB);
  EXPECT_EQ(result.later_step.allocated, (10 + 64 + 80) * kMiB);
  EXPECT_EQ(result.peak_moment.step, 1);
}

TEST(Replay, ATimelineHasOneSampleACall) {
  const Program program = test::tiny_pipeline({.micro_batches = 64, .pp = 2});
  const auto result = replay(program);
  EXPECT_GT(result.calls_skipped, 0);
  const auto& role = program.roles[0];
  ASSERT_EQ(result.timeline.size(), role.prologue.size() + 2 * role.calls.size());
  for (std::size_t i = 1; i < result.timeline.size(); ++i) {
    const MemorySample& before = result.timeline[i - 1];
    const MemorySample& now = result.timeline[i];
    EXPECT_TRUE(now.step == before.step ? now.call == before.call + 1 : now.call == 0) << i;
  }
}

TEST(Replay, WorkspacesAreTakenOncePerHostThread) {
  constexpr std::int64_t kWorkspace = 8519680;  // before Hopper: lies in a 20 MiB segment
  const Program program =
      test::tiny_pipeline({.kept = {40 * kMiB}, .gemm = true, .micro_batches = 4, .pp = 2});
  const auto without = replay(program);
  const auto with = replay(program, {.cublas_workspace_bytes = kWorkspace});
  EXPECT_EQ(with.later_step.allocated - without.later_step.allocated, 2 * kWorkspace);
  EXPECT_EQ(category(with, Category::workspace), 2 * kWorkspace);
  EXPECT_EQ(with.peak.reserved - without.peak.reserved, 20 * kMiB);
}

TEST(Replay, NamesTheTensorThatBreaksIt) {
  const Program program = test::tiny_pipeline(
      {.statics = {10 * kMiB}, .kept = {40 * kMiB}, .micro_batches = 8, .pp = 4});
  const auto result = replay(program, {.allocator = {.capacity_bytes = 100 * kMiB}});
  ASSERT_TRUE(result.oom.has_value());
  EXPECT_EQ(result.oom->tensor, "kept 0");
  EXPECT_EQ(result.oom->requested, 40 * kMiB);
  EXPECT_EQ(result.oom->moment.step, 0);
  EXPECT_EQ(result.oom->moment.micro_batch, 2);
  EXPECT_EQ(result.oom->moment.phase, Phase::forward);
  EXPECT_EQ(result.oom->reserved, 90 * kMiB);
  EXPECT_FALSE(replay(program, {.allocator = {.capacity_bytes = 170 * kMiB}}).oom.has_value());
}

// --- skipping the steady state ---

void expect_equal(const ReplayResult& skipped, const ReplayResult& full) {
  EXPECT_EQ(skipped.peak, full.peak);
  EXPECT_EQ(skipped.startup, full.startup);
  EXPECT_EQ(skipped.first_step, full.first_step);
  EXPECT_EQ(skipped.later_step, full.later_step);
  EXPECT_EQ(skipped.peak_moment.step, full.peak_moment.step);
  EXPECT_EQ(skipped.peak_moment.call, full.peak_moment.call);
  EXPECT_EQ(skipped.peak_moment.op, full.peak_moment.op);
  EXPECT_EQ(skipped.peak_moment.micro_batch, full.peak_moment.micro_batch);
  EXPECT_EQ(skipped.by_category, full.by_category);
  EXPECT_EQ(skipped.rounding_bytes, full.rounding_bytes);
  EXPECT_EQ(skipped.retries, full.retries);
  ASSERT_EQ(skipped.timeline.size(), full.timeline.size());
  for (std::size_t i = 0; i < full.timeline.size(); ++i) {
    EXPECT_EQ(skipped.timeline[i].peaks, full.timeline[i].peaks) << "sample " << i;
    EXPECT_EQ(skipped.timeline[i].call, full.timeline[i].call);
    EXPECT_EQ(skipped.timeline[i].step, full.timeline[i].step);
  }
  EXPECT_EQ(skipped.oom.has_value(), full.oom.has_value());
}

/// Sizes that share segments, leave rests and do not divide each other.
const std::vector<std::int64_t> kUneven = {3 * kMiB + 1, 700, 11 * kMiB + 77, 40 * kMiB,
                                           400 * kKiB};

TEST(SteadyState, SkippedEqualsReplayed) {
  std::int64_t skipped_calls = 0;
  for (const bool expandable : {false, true}) {
    for (const Order order : {Order::one_f_one_b, Order::interleaved, Order::all_forward}) {
      for (const int rank : {0, 1, 3}) {
        for (const int micro_batches : {4, 12, 64, 96}) {
          SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)) + " rank " +
                       std::to_string(rank) + " micro-batches " + std::to_string(micro_batches) +
                       (expandable ? " expandable" : ""));
          const Program program =
              test::tiny_pipeline({.statics = {123 * kMiB, 5000},
                                   .kept = kUneven,
                                   .scratch = {9 * kMiB, 64 * kMiB + 3, 2000},
                                   .optimizer_states = 77 * kMiB,
                                   .optimizer_scratch = 30 * kMiB,
                                   .gemm = true,
                                   .chunks = order == Order::interleaved ? 3 : 1,
                                   .micro_batches = micro_batches,
                                   .pp = 4,
                                   .rank = rank,
                                   .group = 4,
                                   .order = order});
          ReplaySettings settings{.allocator = {.expandable_segments = expandable},
                                  .cublas_workspace_bytes = 8519680};
          const auto skipped = replay(program, settings);
          settings.steady = ReplaySettings::Steady::replay;
          const auto full = replay(program, settings);
          expect_equal(skipped, full);
          EXPECT_EQ(full.calls_skipped, 0);
          skipped_calls += skipped.calls_skipped;
        }
      }
    }
  }
  EXPECT_GT(skipped_calls, 0);
}

TEST(SteadyState, LongOneF1BSkipsMostCalls) {
  const Program program =
      test::tiny_pipeline({.kept = kUneven, .micro_batches = 512, .pp = 8, .rank = 2});
  const auto result = replay(program);
  EXPECT_GT(result.calls_skipped, 2 * 1024 * 3 / 4);
}

TEST(SteadyState, OnASmallDeviceWithRetriesToo) {
  // Capacity between what is held and what would be reserved: the cache is emptied on the way.
  const Program program = test::tiny_pipeline({.statics = {50 * kMiB},
                                               .kept = {33 * kMiB, 21 * kMiB},
                                               .scratch = {70 * kMiB},
                                               .optimizer_scratch = 200 * kMiB,
                                               .micro_batches = 64,
                                               .pp = 4});
  const auto free_run = replay(program);
  ReplaySettings settings{
      .allocator = {.capacity_bytes = (free_run.peak.held + free_run.peak.reserved) / 2}};
  const auto skipped = replay(program, settings);
  settings.steady = ReplaySettings::Steady::replay;
  const auto full = replay(program, settings);
  EXPECT_GT(full.retries, 0);
  expect_equal(skipped, full);
}

TEST(CallPeriod, FindsOneF1BAndInterleaving) {
  const auto period_of = [](const TinyPipeline& spec) {
    const Program program = test::tiny_pipeline(spec);
    return find_period(memory_ops(program, program.roles[0], 0).step(1));
  };
  const auto plain = period_of({.micro_batches = 64, .pp = 4});
  EXPECT_EQ(plain.length, 2);
  EXPECT_EQ(plain.shift, 1);
  EXPECT_GT(plain.periods(), 55);
  const auto woven = period_of(
      {.chunks = 3, .micro_batches = 64, .pp = 4, .group = 4, .order = Order::interleaved});
  EXPECT_EQ(woven.length, 2 * 3 * 4);
  EXPECT_EQ(woven.shift, 4);
  EXPECT_GT(woven.periods(), 10);
  EXPECT_EQ(period_of({.micro_batches = 3, .pp = 4}).periods(), 0);
}

}  // namespace
}  // namespace windtunnel
