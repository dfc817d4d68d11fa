// Bytes outside the allocator and the verdict, against sums by hand.

#include "sim/memory/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/allocator/allocator_rules.h"
#include "sim/memory/outside.h"
#include "tests/sim/memory/tiny_pipeline.h"

namespace windtunnel {
namespace {

// Probabilities are closed forms of erfc; what is left is its last digits.
constexpr double kTolerance = 1e-12;

constexpr std::int64_t kGiB = 1024 * kMiB;

constexpr NcclMemory kNccl{.connection_bytes = 1000,
                           .channels_in_domain = 24,
                           .channels_across = 16,
                           .ring_connections = 1,
                           .tree_connections = 3,
                           .peer_channels = 2,
                           .network_pool_bytes = 500000,
                           .nvls_bytes = 7000000,
                           .communicator_bytes = 10};

/// Rank 0 of tp 8, dp 4, pp 2 (order tp, dp, pp) with one op on each of the given communicators.
struct CommProgram {
  Program program;

  CommProgram() {
    program.mesh = {
        .tp = 8, .dp = 4, .pp = 2, .order = {kAxisTp, kAxisCp, kAxisEp, kAxisDp, kAxisPp}};
    for (int stage = 0; stage < 2; ++stage) program.roles.push_back({.pipeline_rank = stage});
    program.segments.push_back({});
    program.roles[0].calls.push_back({.segment = 0});
  }
  void add_collective(std::uint8_t axes, Collective collective) {
    program.comms.push_back({.name = "group", .axes = axes});
    program.ops.push_back({.kind = OpKind::collective,
                           .collective = collective,
                           .comm = static_cast<std::uint32_t>(program.comms.size() - 1)});
    program.segments[0].op_end = static_cast<std::uint32_t>(program.ops.size());
  }
  void add_exchange(OpKind kind) {
    program.ops.push_back(
        {.kind = kind, .peer = 1, .comm = static_cast<std::uint32_t>(program.comms.size() - 1)});
    program.segments[0].op_end = static_cast<std::uint32_t>(program.ops.size());
  }
  OutsideMemory outside(int domain_ranks) const {
    return outside_memory(program, 0, {.context_bytes = 100, .other_bytes = 3, .nccl = kNccl},
                          domain_ranks);
  }
};

TEST(OutsideMemory, WithoutCommunicatorsIsContextAndOther) {
  EXPECT_EQ(CommProgram().outside(8).total(), 103);
}

TEST(OutsideMemory, CollectivesTakeRingsTreesAndNvls) {
  CommProgram tp;
  tp.add_collective(kAxisTp, Collective::all_gather);
  EXPECT_EQ(tp.outside(8).nccl_bytes, 10 + 24 * 1000 + 7000000);
  CommProgram reduce;
  reduce.add_collective(kAxisTp, Collective::all_reduce);
  EXPECT_EQ(reduce.outside(8).nccl_bytes, 10 + 24 * 4 * 1000 + 7000000);
  EXPECT_EQ(reduce.outside(4).nccl_bytes, 10 + 16 * 4 * 1000 + 7000000) << "across two domains";
  CommProgram dp;
  dp.add_collective(kAxisDp, Collective::reduce_scatter);
  EXPECT_EQ(dp.outside(8).nccl_bytes, 10 + 16 * 1000) << "one member a domain: no NVLS";
}

TEST(OutsideMemory, GroupsOfOneRankAndUnusedOnesCostNothing) {
  CommProgram p;
  p.add_collective(kAxisCp, Collective::all_reduce);  // cp 1
  p.program.comms.push_back({.name = "unused", .axes = kAxisTp});
  EXPECT_EQ(p.outside(8).nccl_bytes, 0);
  EXPECT_TRUE(p.outside(8).communicators.empty());
}

TEST(OutsideMemory, ExchangesConnectPeersOrShareTheNetworkPool) {
  CommProgram p;
  p.program.comms.push_back({.name = "pp", .axes = kAxisPp});
  p.add_exchange(OpKind::send);
  EXPECT_EQ(p.outside(64).nccl_bytes, 10) << "the receiver owns the buffer";
  EXPECT_EQ(p.outside(8).nccl_bytes, 10 + 500000);
  p.add_exchange(OpKind::recv);
  EXPECT_EQ(p.outside(64).nccl_bytes, 10 + 2 * 1000);
  EXPECT_EQ(p.outside(8).nccl_bytes, 10 + 500000);
}

TEST(MemoryVerdict, ProbabilityIsNormalAroundTheNeed) {
  const double one_sigma = 0.5 * std::erfc(1.0 / std::sqrt(2.0));
  EXPECT_NEAR(oom_probability(100, 100, 0.05), 0.5, kTolerance);
  EXPECT_NEAR(oom_probability(1000, 1050, 0.05), one_sigma, kTolerance);
  EXPECT_NEAR(oom_probability(1000, 900, 0.10), 1.0 - one_sigma, kTolerance);
  EXPECT_EQ(verdict_of(0.5), MemoryVerdict::oom);
  EXPECT_EQ(verdict_of(0.49), MemoryVerdict::tight);
  EXPECT_EQ(verdict_of(0.01), MemoryVerdict::fits);
}

MemoryQuestion question(std::int64_t capacity) {
  return {.device = {.capacity_bytes = capacity, .context_bytes = 1 * kGiB},
          .sigma = kSigmaSourceKnown};
}

TEST(MemoryVerdict, CountsContextAndFrames) {
  // 2 GiB of weights, 4 frames of 1 GiB, 1 GiB of context: 7 GiB.
  const Program program =
      test::tiny_pipeline({.statics = {2 * kGiB}, .kept = {kGiB}, .micro_batches = 8, .pp = 4});
  const auto fits = assess_memory(program, question(16 * kGiB));
  EXPECT_EQ(fits.verdict, MemoryVerdict::fits);
  ASSERT_EQ(fits.stages.size(), 1U);
  EXPECT_EQ(fits.stages[0].peak_allocated, 6 * kGiB);
  EXPECT_EQ(fits.stages[0].peak_device, 7 * kGiB);
  EXPECT_EQ(fits.margin_bytes, 9 * kGiB);
  EXPECT_FALSE(fits.stages[0].replay.oom.has_value());

  EXPECT_EQ(assess_memory(program, question(7 * kGiB + 200 * kMiB)).verdict, MemoryVerdict::tight);

  const auto oom = assess_memory(program, question(6 * kGiB + 500 * kMiB));
  EXPECT_EQ(oom.verdict, MemoryVerdict::oom);
  ASSERT_TRUE(oom.stages[0].replay.oom.has_value());
  EXPECT_EQ(oom.stages[0].replay.oom->tensor, "kept 0");
  EXPECT_EQ(oom.stages[0].peak_allocated, 6 * kGiB) << "what it would have needed";
  EXPECT_EQ(oom.margin_bytes, -524 * kMiB);
}

TEST(MemoryVerdict, CachedMemoryIsNotNeed) {
  // An optimizer that needs 3 GiB after frames of 4 x 1 GiB are cached: the cache is given up.
  const Program program = test::tiny_pipeline({.statics = {kGiB},
                                               .kept = {kGiB},
                                               .optimizer_scratch = 3 * kGiB,
                                               .micro_batches = 8,
                                               .pp = 4});
  const auto report = assess_memory(program, question(16 * kGiB));
  EXPECT_EQ(report.stages[0].peak_reserved, 8 * kGiB);
  EXPECT_EQ(report.stages[0].need, 6 * kGiB);
  const auto small = assess_memory(program, question(6 * kGiB));
  EXPECT_FALSE(small.stages[0].replay.oom.has_value());
  EXPECT_GT(small.stages[0].replay.retries, 0);
}

TEST(MemoryVerdict, ThreadsDoNotChangeTheAnswer) {
  Program program = test::tiny_pipeline({.statics = {kGiB}, .kept = {kGiB, 3 * kMiB}, .pp = 4});
  for (int copy = 1; copy < 5; ++copy) {
    program.roles.push_back(program.roles[0]);
    program.roles.back().slots[0].elements = copy * kGiB;
  }
  MemoryQuestion asked = question(8 * kGiB);
  const auto one = assess_memory(program, asked);
  asked.threads = 3;
  const auto three = assess_memory(program, asked);
  EXPECT_EQ(one.fullest, three.fullest);
  EXPECT_EQ(one.margin_bytes, three.margin_bytes);
  ASSERT_EQ(three.stages.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(one.stages[i].peak_reserved, three.stages[i].peak_reserved) << i;
  }
}

TEST(MemoryVerdict, TheFullestStageDecides) {
  Program program = test::tiny_pipeline({.statics = {kGiB}, .kept = {kGiB}, .pp = 4, .rank = 3});
  program.roles.push_back(program.roles[0]);
  program.roles[1].pipeline_rank = 1;
  program.roles[1].slots[0].elements = 3 * kGiB;
  program.mesh.pp = 4;
  const auto report = assess_memory(program, question(8 * kGiB));
  EXPECT_EQ(report.fullest, 1);
  EXPECT_EQ(report.margin_bytes, 3 * kGiB);
}

}  // namespace
}  // namespace windtunnel
