// The engine on a program of the size of llama3-405b's step on 16,384 ranks (see
// tests/sim/engine/large_program.h).
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/large_program.h"

namespace windtunnel {
namespace {

using toy::Toy;

constexpr Jitter kJitter{.sigma = 0.02, .seed = 7};

void measure(benchmark::State& state, const Toy& toy, const StepOptions& options) {
  StepTiming timing;
  for (auto _ : state) {
    timing = simulate_step(toy.program, toy.costs, options);
    benchmark::DoNotOptimize(timing.step_time.data());
  }
  const auto executed = static_cast<double>(timing.op_executions);
  state.counters["op_executions"] = executed;
  state.counters["ops_per_second"] =
      benchmark::Counter(executed, benchmark::Counter::kIsIterationInvariantRate);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void BM_Folded(benchmark::State& state) {
  measure(state, toy::large_program({}), {});
}

void BM_FoldedT1(benchmark::State& state) {
  Toy toy = toy::large_program({});
  toy::add_theft(toy);
  measure(state, toy, {});
}

void BM_Draws32(benchmark::State& state) {
  measure(state, toy::large_program({.draws = 32}), {});
}

void BM_Straggler(benchmark::State& state) {
  Toy toy = toy::large_program({});
  toy.costs.slow_ranks = {{.rank = 77, .factor = 1.2}};
  measure(state, toy, {});
}

void BM_Unfolded(benchmark::State& state) {
  measure(state, toy::large_program({}), {.ranks = Ranks::all});
}

void BM_UnfoldedJitter(benchmark::State& state) {
  Toy toy = toy::large_program({});
  toy.costs.jitter = kJitter;
  measure(state, toy, {});
}

void BM_UnfoldedJitterT1(benchmark::State& state) {
  Toy toy = toy::large_program({});
  toy.costs.jitter = kJitter;
  toy::add_theft(toy);
  measure(state, toy, {});
}

BENCHMARK(BM_Folded)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FoldedT1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Draws32)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Straggler)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Unfolded)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_UnfoldedJitter)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_UnfoldedJitterT1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace windtunnel
