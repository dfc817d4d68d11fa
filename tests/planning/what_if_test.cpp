// The label of a step is right when taking away its cost, of all classes', shortens the step most.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/cost/profile.h"
#include "models/cost/profile_cost.h"
#include "planning/pricing.h"
#include "planning/simulate.h"
#include "report/bottleneck.h"
#include "scenarios/loader.h"
#include "sim/engine/simulate_step.h"

namespace windtunnel {
namespace {

struct Trap {
  const char* name;
  BottleneckClass label;
  std::string model, cluster, batch, plan;
};

const std::string kWide = "{layers: 4, hidden: 4096, ffn: 16384, heads: 32, vocab: 8192}";
const std::string kTiny = "{layers: 8, hidden: 256, ffn: 512, heads: 4, vocab: 512}";
const std::string kNode = "{device: h100-sxm-80gb, devices_per_node: 8, nodes: 1}";

std::string over_network(int nodes, const std::string& gigabits) {
  return fmt::format(
      "{{device: h100-sxm-80gb, devices_per_node: 8, nodes: {}, network: {{nics_per_node: 8, "
      "nic_bandwidth: {} Gbit/s}}}}",
      nodes, gigabits);
}

Scenario scenario(const Trap& t) {
  return load_scenarios_text(fmt::format("model: {}\ncluster: {}\nbatch: {}\nstack: {{framework: "
                                         "megatron-lm}}\nplan: {}\n",
                                         t.model, t.cluster, t.batch, t.plan),
                             "trap.yaml")
      .scenarios.front();
}

/// What an op counts for in the bottleneck's classes.
BottleneckClass class_of(const Program& program, const Op& op) {
  if (op.kind == OpKind::host_work) return BottleneckClass::host;
  if (op.kind != OpKind::compute) return BottleneckClass::exposed_comm;
  const KernelClass cls = row_of(program.shapes[op.shape].kernel).cls;
  return cls == KernelClass::memory ? BottleneckClass::memory : BottleneckClass::compute;
}

/// The step in seconds when a class costs nothing.
double without(const Program& program, StepCosts costs, BottleneckClass cls) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (class_of(program, program.ops[i]) == cls) costs.duration[i] = 0;
  }
  if (cls == BottleneckClass::host) costs.launch = {0};
  return from_picoseconds(simulate_step(program, costs).step_time[0]).value;
}

class WhatIf : public testing::TestWithParam<Trap> {};

TEST_P(WhatIf, TheLabelsCostIsTheOneToTakeAway) {
  const Trap& trap = GetParam();
  const Scenario s = scenario(trap);
  const Simulation simulation = simulate(s, {.draws = 0});
  EXPECT_EQ(simulation.report.bottleneck, name_of(trap.label));
  const Program& program = simulation.lowered.program;
  const ProfileCostModel model(load_public_profile(s.cluster.device));
  const StepCosts costs = price(program, model, s.cluster, {}).costs;
  const double whole = from_picoseconds(simulate_step(program, costs).step_time[0]).value;
  double most = 0.0;
  auto best = BottleneckClass::count;
  for (const BottleneckClass cls : {BottleneckClass::compute, BottleneckClass::memory,
                                    BottleneckClass::exposed_comm, BottleneckClass::host}) {
    const double drop = whole - without(program, costs, cls);
    std::printf("%s: without %s the step is %.4g s shorter of %.4g s\n", trap.name, name_of(cls),
                drop, whole);
    if (drop > most) {
      most = drop;
      best = cls;
    }
  }
  EXPECT_EQ(name_of(best), name_of(trap.label));
}

INSTANTIATE_TEST_SUITE_P(
    Traps, WhatIf,
    testing::Values(
        Trap{"products", BottleneckClass::compute, kWide, kNode,
             "{global: 64, micro: 2, sequence: 4096}", "{tp: 8, sequence_parallel: true}"},
        // Few tokens, many parameters: most of the step reads and writes optimizer states.
        Trap{"optimizer", BottleneckClass::memory,
             "{layers: 4, hidden: 8192, ffn: 28672, heads: 64, vocab: 8192}",
             "{device: h100-sxm-80gb, devices_per_node: 1, nodes: 1}",
             "{global: 1, micro: 1, sequence: 128}", "{}"},
        // All of it all-reduce: busy devices that compute next to nothing.
        Trap{"exposed_all_reduce", BottleneckClass::exposed_comm, kWide, over_network(4, "10"),
             "{global: 32, micro: 1, sequence: 512}", "{}"},
        Trap{"exposed_tp", BottleneckClass::exposed_comm, kWide, over_network(2, "100"),
             "{global: 16, micro: 4, sequence: 4096}", "{tp: 16}"},
        Trap{"launches", BottleneckClass::host, kTiny, kNode,
             "{global: 64, micro: 1, sequence: 128}", "{}"}),
    [](const testing::TestParamInfo<Trap>& trap) { return trap.param.name; });

// A bubble costs nothing that could be taken away: it goes with the number of stages. One
// micro-batch over four stages leaves each idle three quarters of the time; on one stage it is
// gone.
TEST(WhatIfStages, ABubbleGoesWithTheStages) {
  const auto report = [](int pp) {
    return simulate(
               scenario(
                   {"stages", BottleneckClass::bubble, kWide,
                    fmt::format("{{device: h100-sxm-80gb, devices_per_node: {}, nodes: 1}}", pp),
                    "{global: 1, micro: 1, sequence: 8192}", fmt::format("{{pp: {}}}", pp)}),
               {.draws = 0})
        .report;
  };
  const StepReport four = report(4), one = report(1);
  EXPECT_EQ(four.bottleneck, "bubble");
  EXPECT_EQ(one.breakdown.bubble, 0.0);
  const double drop = four.step_time_s * 4 - one.step_time_s;  // device time
  EXPECT_GT(drop, 4 * four.breakdown.compute);
}

}  // namespace
}  // namespace windtunnel
