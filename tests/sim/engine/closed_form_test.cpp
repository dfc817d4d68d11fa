// Does the engine equal the formula? Chains, launch bounds, overlap, pipelines.
#include <gtest/gtest.h>

#include <string>

#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/toy_pipeline.h"

namespace windtunnel {
namespace {

using toy::Order;
using toy::PipelineSpec;
using toy::Toy;
using toy::units;

/// Integer clock and integer costs: closed forms hold to the picosecond.
void expect_step(const std::string& name, const StepTiming& timing, Picoseconds expected) {
  const Picoseconds got = timing.step_time[0];
  std::printf("%-44s expected %14lld ps  got %14lld ps  deviation %lld\n", name.c_str(),
              static_cast<long long>(expected), static_cast<long long>(got),
              static_cast<long long>(got - expected));
  EXPECT_EQ(got, expected) << name;
  for (std::size_t role = 0; role < timing.roles.size(); ++role) {
    Picoseconds sum = 0;
    for (std::size_t c = 0; c < timing.categories.size(); ++c) {
      sum += timing.time(static_cast<int>(role), c, 0);
    }
    EXPECT_EQ(sum, got) << name << ": the time table of role " << role << " sums to the step";
  }
}

Toy chain(int ops, double cost, double launch) {
  Toy toy;
  const auto segment = toy.segment("chain");
  for (int i = 0; i < ops; ++i) toy.compute(units(cost));
  toy.costs.launch = {units(launch)};
  toy.call(0, segment);
  return toy;
}

TEST(ClosedForm, LaunchBoundChainIsIssueTimePlusOneKernel) {  // O-128
  const Toy toy = chain(1000, 2, 5);
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  expect_step("N l + x", timing, units(5002));
  EXPECT_EQ(timing.total(0, TimeKind::compute, 0), units(2000));
  EXPECT_EQ(timing.total(0, TimeKind::host, 0), units(3002));
}

TEST(ClosedForm, DeviceBoundChainIsOneLaunchPlusKernels) {  // O-129
  const Toy toy = chain(1000, 2, 1);
  expect_step("l + N x", simulate_step(toy.program, toy.costs), units(2001));
}

TEST(ClosedForm, GraphIsOneLaunch) {  // O-130
  Toy toy = chain(1000, 2, 10);
  for (std::size_t i = 1; i < toy.program.ops.size(); ++i) toy.program.ops[i].launches = 0;
  expect_step("l_g + N x", simulate_step(toy.program, toy.costs), units(2010));
}

TEST(ClosedForm, RunAheadOfOneSerialisesHostAndDevice) {
  Toy toy = chain(100, 2, 5);
  toy.costs.run_ahead = 1;
  expect_step("run-ahead 1: N (l + x)", simulate_step(toy.program, toy.costs), units(700));
}

TEST(ClosedForm, RunAheadExposesHostWorkBeyondIt) {
  // 100 kernels of 2, launches of 1; then host work of 30 and one more kernel. With an unbounded
  // queue the host work is hidden: 1 + 101 * 2. Ten ahead, the 100th launch waits for the 90th
  // kernel (181), then: launch 1, host work 30, launch 1, kernel 2.
  for (const auto& [depth, expected] : {std::pair{0, 203.0}, {10, 215.0}}) {
    Toy toy = chain(100, 2, 1);
    toy.host_work(units(30));
    toy.compute(units(2));
    toy.costs.run_ahead = depth;
    expect_step("run-ahead " + std::to_string(depth), simulate_step(toy.program, toy.costs),
                units(expected));
  }
}

/// DDP: L layers of backward b, a bucket's all-reduce c each on the dp stream; the step ends with a
/// wait for all of them.
Toy ddp(int layers, double b, double c, int buckets) {
  Toy toy({.dp = 4});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto ready = toy.event(0, false);
  const auto reduced = toy.event(0, false);
  const auto segment = toy.segment("backward");
  const int per_bucket = layers / buckets;
  for (int layer = 0; layer < layers; ++layer) {
    toy.compute(units(b));
    if ((layer + 1) % per_bucket != 0) continue;
    toy.record(ready, Stream::compute);
    toy.wait(ready, Stream::dp);
    toy.collective(dp, units(c * per_bucket), Stream::dp);
  }
  toy.record(reduced, Stream::dp);
  toy.wait(reduced, Stream::compute);
  toy.compute(0);
  toy.call(0, segment);
  return toy;
}

TEST(ClosedForm, BucketsOverlapWithBackward) {  // O-051, O-052
  const Toy hidden = ddp(10, 2, 1, 10);
  const StepTiming timing = simulate_step(hidden.program, hidden.costs);
  expect_step("DDP: L b + c", timing, units(21));
  EXPECT_EQ(timing.total(0, TimeKind::exposed_comm, 0), units(1));
  const Toy bound = ddp(10, 2, 3, 10);
  const StepTiming exposed = simulate_step(bound.program, bound.costs);
  expect_step("DDP: b + L c", exposed, units(32));
  EXPECT_EQ(exposed.total(0, TimeKind::exposed_comm, 0), units(12));
  const Toy whole = ddp(10, 2, 1, 1);
  expect_step("DDP, one bucket: L b + L c", simulate_step(whole.program, whole.costs), units(30));
}

struct PipelineCase {
  const char* name;
  PipelineSpec spec;
  double expected;
  int slow_stage = -1;  // its compute takes 1.5 times as long
};

class Pipelines : public testing::TestWithParam<PipelineCase> {};

TEST_P(Pipelines, MakespanEqualsTheFormula) {
  const PipelineCase& c = GetParam();
  Toy toy = toy::pipeline(c.spec);
  if (c.slow_stage >= 0) {
    toy.costs.role_factor.assign(static_cast<std::size_t>(c.spec.stages), 1.0);
    toy.costs.role_factor[static_cast<std::size_t>(c.slow_stage)] = 1.5;
  }
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  expect_step(c.name, timing, units(c.expected));
  if (c.slow_stage >= 0) return;
  for (int role = 0; role < c.spec.stages; ++role) {
    EXPECT_EQ(timing.total(role, TimeKind::compute, 0),
              c.spec.micro_batches * (c.spec.forward + c.spec.backward));
    EXPECT_EQ(timing.total(role, TimeKind::host, 0), 0);
  }
}

constexpr Picoseconds kTenth = toy::kUnit / 10;
constexpr auto kInterleaved = Order::interleaved;

INSTANTIATE_TEST_SUITE_P(
    Oracles, Pipelines,
    testing::Values(
        PipelineCase{"O085 gpipe p4 m8", {Order::gpipe, 4, 8}, 33},
        PipelineCase{"O086 1f1b p4 m8", {Order::one_f_one_b, 4, 8}, 33},
        PipelineCase{"O087 1f1b p8 m32", {Order::one_f_one_b, 8, 32}, 117},
        PipelineCase{"O088 1f1b p2 m3", {Order::one_f_one_b, 2, 3}, 12},
        PipelineCase{
            "O089 1f1b p4 m8 B3", {Order::one_f_one_b, 4, 8, 1, 0, units(1), units(3)}, 44},
        PipelineCase{"O090 interleaved p4 m8 v2", {kInterleaved, 4, 8, 2}, 28.5},
        PipelineCase{"O091 interleaved p8 m32 v2", {kInterleaved, 8, 32, 2}, 106.5},
        PipelineCase{"O092 interleaved p4 m8 v4", {kInterleaved, 4, 8, 4}, 26.25},
        PipelineCase{"O093 interleaved p2 m4 v2", {kInterleaved, 2, 4, 2}, 13.5},
        PipelineCase{"O094 interleaved p4 m12 v2 N6", {kInterleaved, 4, 12, 2, 6}, 40.5},
        PipelineCase{
            "O112 gpipe p4 m8 c.1", {Order::gpipe, 4, 8, 1, 0, units(1), units(2), kTenth}, 33.6},
        PipelineCase{"O113 1f1b p4 m8 c.1",
                     {Order::one_f_one_b, 4, 8, 1, 0, units(1), units(2), kTenth},
                     34.6},
        PipelineCase{"O114 1f1b p8 m32 c.25",
                     {Order::one_f_one_b, 8, 32, 1, 0, units(1), units(2), units(0.25)},
                     134.0},
        PipelineCase{"O115 interleaved p4 m8 v2 c.1",
                     {kInterleaved, 4, 8, 2, 0, units(1), units(2), kTenth},
                     29.9},
        PipelineCase{"O116 interleaved p4 m24 v2 c.1 N4",
                     {kInterleaved, 4, 24, 2, 4, units(1), units(2), kTenth},
                     77.9},
        PipelineCase{"O116 interleaved p4 m24 v2 c.1 N5",
                     {kInterleaved, 4, 24, 2, 5, units(1), units(2), kTenth},
                     77.5},
        PipelineCase{"O116 interleaved p4 m24 v2 c.1 N6",
                     {kInterleaved, 4, 24, 2, 6, units(1), units(2), kTenth},
                     77.1},
        PipelineCase{"O116 interleaved p4 m24 v2 c.1 N8",
                     {kInterleaved, 4, 24, 2, 8, units(1), units(2), kTenth},
                     77.1},
        PipelineCase{"O117 1f1b p4 m8 last x1.5", {Order::one_f_one_b, 4, 8}, 45, 3},
        PipelineCase{"O117 1f1b p4 m16 last x1.5", {Order::one_f_one_b, 4, 16}, 81, 3},
        PipelineCase{"O118 1f1b p4 m8 first x1.5", {Order::one_f_one_b, 4, 8}, 40.5, 0},
        PipelineCase{"O118 1f1b p4 m16 first x1.5", {Order::one_f_one_b, 4, 16}, 76.5, 0}),
    [](const testing::TestParamInfo<PipelineCase>& instance) {
      std::string name = instance.param.name;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace windtunnel
