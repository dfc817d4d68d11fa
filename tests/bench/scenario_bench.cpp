// The largest scenario that ships, llama3-405b on 16,384 H100, through the real path: what `check`
// and `simulate` cost, part by part, and the same step with every rank a lane of its own.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "core/check.h"
#include "core/data_dir.h"
#include "models/cost/profile_cost.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "planning/memory_answer.h"
#include "planning/pricing.h"
#include "planning/simulate.h"
#include "program/verify.h"
#include "scenarios/loader.h"
#include "sim/engine/simulate_step.h"

namespace windtunnel {
namespace {

const Scenario& largest() {
  static const Scenario scenario =
      load_scenarios(data_dir() + "/scenarios/training/llama3-405b-16384.yaml").scenarios.at(0);
  return scenario;
}

void count_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void BM_Lower(benchmark::State& state) {
  const ResolvedScenario resolved = resolve(largest());
  for (auto _ : state) benchmark::DoNotOptimize(lower(resolved));
}

void BM_Verify(benchmark::State& state) {
  const Program program = lower(resolve(largest()));
  for (auto _ : state) verify(program);
}

void BM_Memory(benchmark::State& state) {
  const Lowered lowered = lower_scenario(largest());
  const Profile profile = load_public_profile(largest().cluster.device);
  for (auto _ : state) benchmark::DoNotOptimize(memory_answer(lowered, profile));
}

/// Lowering, folded sweep and memory: the nominal answer. Target: 50 ms and 200 MB.
void BM_SimulateFolded(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(simulate(largest(), {.draws = 0}));
  count_memory(state);
}

/// The same with the interval's 32 draws, as `simulate` runs it.
void BM_SimulateWithInterval(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(simulate(largest(), {}));
  count_memory(state);
}

/// The nominal answer with every transfer's flow on the network (tier T2), which this scenario's
/// plan does not ask for by itself.
void BM_SimulateSharedNetwork(benchmark::State& state) {
  const SimulateOptions options{.draws = 0, .sharing = NetworkSharing::always};
  for (auto _ : state) benchmark::DoNotOptimize(simulate(largest(), options));
  count_memory(state);
}

/// What `check` answers. Target: 100 ms.
void BM_Check(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(check(largest()));
}

void unfolded(benchmark::State& state, double jitter) {
  const Lowered lowered = lower_scenario(largest());
  const ProfileCostModel model(load_public_profile(largest().cluster.device));
  PricedProgram priced = price(lowered.program, model, largest().cluster, {});
  priced.costs.jitter = {.sigma = jitter, .seed = 1};
  const Picoseconds folded =
      simulate_step(lowered.program, nominal_costs(priced.costs)).step_time[0];
  for (auto _ : state) {
    const StepTiming timing = simulate_step(lowered.program, priced.costs, {.ranks = Ranks::all});
    CHECK(jitter > 0 || timing.step_time[0] == folded, "unfolded equals folded to the picosecond");
    state.counters["op_executions"] = static_cast<double>(timing.op_executions);
  }
  count_memory(state);
}

/// All 16,384 ranks. Equal to the folded answer to the picosecond (checked).
void BM_UnfoldedLockstep(benchmark::State& state) {
  unfolded(state, 0.0);
}
/// All 16,384 ranks, each op of each rank with noise of its own. Target: 6 s and 2 GB.
void BM_UnfoldedJitter(benchmark::State& state) {
  unfolded(state, 0.02);
}

BENCHMARK(BM_Lower)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Memory)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_SimulateFolded)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_SimulateWithInterval)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_SimulateSharedNetwork)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Check)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_UnfoldedLockstep)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);
BENCHMARK(BM_UnfoldedJitter)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);

}  // namespace
}  // namespace windtunnel
