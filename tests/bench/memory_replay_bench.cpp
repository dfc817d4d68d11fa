// Time of the memory replay for 16 pipeline ranks of llama3-405b: tp 8 with sequence parallelism,
// pp 16, 8 virtual stages of one layer, 128 micro-batches; every rank's prologue and two steps of
// 2,048 calls with about 35 allocations and frees each.

#include <benchmark/benchmark.h>

#include <vector>

#include "models/allocator/allocator_rules.h"
#include "sim/memory/replay.h"
#include "tests/sim/memory/tiny_pipeline.h"

namespace windtunnel {
namespace {

constexpr int kRanks = 16;

Program rank_of_405b(int rank, test::TinyPipeline::Order order) {
  return test::tiny_pipeline(
      {.statics = {6000 * kMiB, 12000 * kMiB, 3000 * kMiB},
       .kept = {32 * kMiB, 36 * kMiB, 32 * kMiB, 512 * kKiB, 4096, 104 * kMiB, 104 * kMiB,
                32 * kMiB, 4096},
       .scratch = {256 * kMiB},
       .optimizer_scratch = 1000 * kMiB,
       .gemm = true,
       .chunks = order == test::TinyPipeline::Order::interleaved ? 8 : 1,
       .micro_batches = order == test::TinyPipeline::Order::interleaved ? 128 : 1024,
       .pp = kRanks,
       .rank = rank,
       .group = kRanks,
       .order = order});
}

void Replay405B(benchmark::State& state) {
  std::vector<Program> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(rank_of_405b(rank, static_cast<test::TinyPipeline::Order>(state.range(0))));
  }
  const ReplaySettings settings{.allocator = {.expandable_segments = state.range(2) != 0},
                                .cublas_workspace_bytes = 32 * kMiB,
                                .steady = state.range(1) != 0 ? ReplaySettings::Steady::skip
                                                              : ReplaySettings::Steady::replay};
  std::int64_t ops = 0, skipped = 0;
  for (auto _ : state) {
    ops = skipped = 0;
    for (const Program& program : ranks) {
      const ReplayResult result = replay_memory(program, 0, settings);
      ops += result.ops_replayed;
      skipped += result.calls_skipped;
    }
  }
  state.counters["ops"] = static_cast<double>(ops);
  state.counters["calls_skipped"] = static_cast<double>(skipped);
  state.counters["per_op"] =
      benchmark::Counter(static_cast<double>(ops * static_cast<std::int64_t>(state.iterations())),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Replay405B)
    ->ArgNames({"order", "skip", "expandable"})
    ->Args({1, 1, 0})
    ->Args({1, 0, 0})
    ->Args({1, 1, 1})
    ->Args({0, 1, 0})
    ->Args({0, 0, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace windtunnel
