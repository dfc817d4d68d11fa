// What an execution counts equals what the simulator predicts and what the reference derives: peak
// bytes of every rank, and traffic of every communicator.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <ostream>

#include "program/mesh.h"
#include "runtime/interpreter.h"
#include "sim/memory/host_memory.h"
#include "sim/memory/replay.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

void PrintTo(const PlanCase& row, std::ostream* out);

namespace {

class Counters : public testing::TestWithParam<PlanCase> {};

std::string name_of(const testing::TestParamInfo<PlanCase>& info) {
  return info.param.name;
}

/// The allocator cuts blocks to 512 bytes up to 1 MiB. What is larger in a toy program is a buffer
/// of a fixed size that no op names (DeepSpeed's for reductions): made smaller here.
void shrink_large_buffers(Program& program) {
  constexpr std::int64_t kLargestCut = 1 << 20, kElements = 1000;
  for (Role& role : program.roles) {
    for (Slot& slot : role.slots) {
      if (slot.bytes() > kLargestCut) slot.elements = kElements;
    }
  }
}

TEST_P(Counters, PeakBytesAreThoseTheSimulatorReplays) {
  Program program = lower_both(GetParam()).plan;
  shrink_large_buffers(program);
  constexpr std::int64_t kBlock = 512;  // bytes: the caching allocator's rounding
  const ExecutionRecord record =
      execute(program, {.mode = NumberMode::field, .steps = 2, .allocation_granularity = kBlock});
  const Grid grid = dense_grid(program.mesh);
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const int role = coordinates_of(grid, rank).pp;
    const ReplayResult replayed = replay_memory(program, role, {});
    EXPECT_EQ(replayed.peak.allocated, record.ranks[static_cast<std::size_t>(rank)].peak_bytes)
        << "rank " << rank;
    EXPECT_EQ(peak_host_bytes(program, program.roles[static_cast<std::size_t>(role)]),
              record.ranks[static_cast<std::size_t>(rank)].peak_host_bytes)
        << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Proof, Counters, testing::ValuesIn(plan_cases()), name_of);

/// Traffic of one step on a rank, by communicator, op kind and collective.
Traffic traffic_of(const std::string& plan, int rank, const TrafficKey& key) {
  const Program program = lower_both(plan_case(plan)).plan;
  const ExecutionRecord record = execute(program, {.mode = NumberMode::field, .steps = 1});
  const auto& all = record.ranks[static_cast<std::size_t>(rank)].traffic;
  const auto found = all.find(key);
  return found == all.end() ? Traffic{} : found->second;
}

TrafficKey collective_on(const std::string& plan, const std::string& comm, Collective collective) {
  const Program program = lower_both(plan_case(plan)).plan;
  for (std::size_t i = 0; i < program.comms.size(); ++i) {
    if (program.comms[i].name == comm) {
      return {static_cast<std::uint32_t>(i), OpKind::collective, collective};
    }
  }
  return {kNone, OpKind::collective, collective};
}

void expect_count(const char* what, std::int64_t expected, std::int64_t got) {
  std::cout << what << ": expected " << expected << ", got " << got << "\n";
  EXPECT_EQ(expected, got) << what;
}

constexpr std::int64_t kLayers = 4, kHidden = 16, kTokens = 8, kMicroBatches = 16, kBf16 = 2;

/// Four all-reduces a layer, one for the embedding, one for the head's input gradient; three of
/// (T) in the loss.
TEST(Traffic, TensorParallel) {
  const TrafficKey key = collective_on("tp2_untied", "tp", Collective::all_reduce);
  const Traffic t = traffic_of("tp2_untied", 1, key);
  expect_count("all-reduces", kMicroBatches * (4 * kLayers + 1 + 1 + 3), t.count);
  constexpr std::int64_t kFp32 = 4;
  expect_count(
      "bytes",
      kMicroBatches * ((4 * kLayers + 2) * kTokens * kHidden * kBf16 + 3 * kTokens * kFp32),
      t.bytes);
}

/// Six all-gathers and four reduce-scatters a layer; the embedding scatters forward and gathers
/// backward, the head gathers forward, gathers again and scatters backward.
TEST(Traffic, SequenceParallel) {
  const char* plan = "tp2_sp_llama";
  const Traffic gathers = traffic_of(plan, 0, collective_on(plan, "tp", Collective::all_gather));
  const Traffic scatters =
      traffic_of(plan, 0, collective_on(plan, "tp", Collective::reduce_scatter));
  expect_count("all-gathers", kMicroBatches * (6 * kLayers + 3), gathers.count);
  expect_count("reduce-scatters", kMicroBatches * (4 * kLayers + 2), scatters.count);
  expect_count("bytes scattered", scatters.count * kTokens * kHidden * kBf16, scatters.bytes);
}

/// Every parameter's gradient is reduced once and its weight gathered once a step, however many
/// micro-batches there are.
TEST(Traffic, Zero1) {
  const char* plan = "dp2_zero1";
  const Program program = lower_both(plan_case(plan)).plan;
  std::int64_t parameters = 0;
  for (const Param& p : program.params) parameters += std::max(p.rows, p.padded_rows) * p.cols;
  const Traffic reduced =
      traffic_of(plan, 0, collective_on(plan, "dp", Collective::reduce_scatter));
  const Traffic gathered = traffic_of(plan, 0, collective_on(plan, "dp", Collective::all_gather));
  constexpr std::int64_t kFp32 = 4;
  expect_count("gradient bytes", parameters * kFp32, reduced.bytes);
  expect_count("weight bytes", parameters * kBf16, gathered.bytes);
}

/// A boundary is crossed once a micro-batch in each direction; interleaving crosses p v - 1.
TEST(Traffic, Pipeline) {
  for (const auto& [plan, sends] : {std::pair{"pp4_1f1b", 3}, std::pair{"pp2_interleaved", 3}}) {
    const Program program = lower_both(plan_case(plan)).plan;
    const ExecutionRecord record = execute(program, {.mode = NumberMode::field, .steps = 1});
    Traffic forward;
    for (const RankCounters& rank : record.ranks) {
      for (const auto& [key, traffic] : rank.traffic) {
        if (std::get<1>(key) != OpKind::send) continue;
        if (program.comms[std::get<0>(key)].name != "pp_fwd") continue;
        forward.count += traffic.count;
        forward.bytes += traffic.bytes;
      }
    }
    expect_count("sends forward", sends * kMicroBatches, forward.count);
    expect_count("bytes", sends * kMicroBatches * kTokens * kHidden * kBf16, forward.bytes);
  }
}

}  // namespace
}  // namespace windtunnel::proof
