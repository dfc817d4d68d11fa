// A step whose kernels are replayed from CUDA graphs costs the host one launch a graph
// (docs/host_effects.md). On device `unit` every kernel takes x, a replay l_graph of host time, and
// each captured kernel the gap g more.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/cost/cost_model.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;

struct Costs {
  double kernel_us = 2, launch_us = 5, graph_us = 10, gap_us = 0;
  bool graphs = true;
  std::string stack = "mlperf megatron";
};

Simulation step_of(const Costs& c) {
  return simulate_unit(scenario_of(fmt::format(
      R"(id: graphs
stack: {{framework: {}}}
model: {}
cluster:
  device: unit
  devices_per_node: 1
  nodes: 1
  unit: {{layer: {{F: "{x} us", B: "{x} us"}}, launch: "{} us", graph_launch: "{} us",
          graph_gap: "{} us", else: "{x} us"}}
batch: {{global: 8, micro: 1, sequence: 32}}
plan: {{cuda_graphs: {}}}
)",
      c.stack, small_model(4), c.launch_us, c.graph_us, c.gap_us, c.graphs,
      fmt::arg("x", c.kernel_us))));
}

struct Issued {
  std::int64_t captured = 0, captured_launches = 0, before = 0, after = 0, after_launches = 0,
               graphs = 0;
};

Issued issued(const Program& program) {
  Issued n;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (!runs(op, call, 1)) continue;
      const bool launches =
          op.kind == OpKind::host_work &&
          program.shapes[op.shape].dims[0] == static_cast<std::int64_t>(HostItem::graph_launch);
      if (launches) ++n.graphs;
      if (op.kind != OpKind::compute) continue;
      if (op.captured) {
        ++n.captured;
        n.captured_launches += op.launches;
      } else if (n.captured == 0) {
        ++n.before;
      } else {
        ++n.after;
        n.after_launches += op.launches;
      }
    }
  }
  return n;
}

// T = l_graph + N (x + g), and what is not captured around it: with launches for free and
// l_graph longer than what comes before, the step is l_graph + N (x + g) + N_after x.
TEST(Graphs, Oracle_O_130_replayed_iteration) {
  for (const double gap : {0.0, 0.5}) {
    const Simulation s = step_of({.kernel_us = 2, .launch_us = 0, .graph_us = 1000, .gap_us = gap});
    const Issued n = issued(s.lowered.program);
    EXPECT_EQ(n.graphs, 1);
    EXPECT_GT(n.captured, 300);
    EXPECT_LT(static_cast<double>(n.before) * 2, 1000);
    const double expected = 1000 + static_cast<double>(n.captured) * 2 +
                            static_cast<double>(n.captured_launches) * gap +
                            static_cast<double>(n.after) * 2;
    expect_relative("O-130: l_graph + N (x + g)", expected * 1e-6, s.report.step_time_s,
                    kPicosecond);
  }
}

// Launch-bound without graphs (O-128), device-bound with them.
TEST(Graphs, ALaunchBoundStepBecomesDeviceBound) {
  const StepReport eager = step_of({.graphs = false}).report;
  EXPECT_EQ(eager.bottleneck, "host");
  const Simulation graphs = step_of({});
  const Issued n = issued(graphs.lowered.program);
  EXPECT_NE(graphs.report.bottleneck, "host");
  EXPECT_LT(graphs.report.breakdown.host, 0.3 * eager.breakdown.host);
  EXPECT_GE(graphs.report.step_time_s, 1e-6 * 2 * static_cast<double>(n.captured + n.after));
}

// One graph per layer, phase and micro-batch; 4 layers, 8 micro-batches. Where the host is slower
// than the graphs' kernels, each graph's host time shows: a plain walk of the issue order.
TEST(Graphs, OfLayersAreOneLaunchEach) {
  const Simulation s =
      step_of({.kernel_us = 2, .launch_us = 5, .graph_us = 100, .stack = "megatron-lm"});
  const Program& program = s.lowered.program;
  EXPECT_EQ(issued(program).graphs, 4 * 8 * 2);
  double host = 0, tail = 0;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (!runs(op, call, 1)) continue;
      if (op.kind == OpKind::host_work) {
        const bool graph =
            program.shapes[op.shape].dims[0] == static_cast<std::int64_t>(HostItem::graph_launch);
        host += graph ? 100 : 2;
      }
      if (op.kind != OpKind::compute) continue;
      if (!op.captured) host += 5 * op.launches;
      tail = std::max(tail, host) + 2;
    }
  }
  expect_relative("walked", std::max(host, tail) * 1e-6, s.report.step_time_s, kPicosecond);
}

// What frameworks do inside layers is not run again: no host work remains in captured parts.
TEST(Graphs, HostWorkOfCapturedPartsIsGone) {
  const auto host_ops = [](const std::string& stack, bool graphs) {
    const Simulation s = step_of({.graphs = graphs, .stack = stack});
    std::int64_t ops = 0;
    for (const Op& op : s.lowered.program.ops) {
      ops += op.kind == OpKind::host_work && op.layer >= 0 &&
             s.lowered.program.shapes[op.shape].dims[0] !=
                 static_cast<std::int64_t>(HostItem::graph_launch);
    }
    return ops;
  };
  EXPECT_GT(host_ops("megatron-lm", false), 0);
  EXPECT_EQ(host_ops("megatron-lm", true), 0);
  EXPECT_EQ(host_ops("mlperf megatron", true), 0);
}

// Tensors of graphs are taken from their own pool, and each micro-batch under way has graphs of its
// own: 1F1B of two stages has two under way in the first.
TEST(Graphs, HoldAPoolAndKernelsPerMicroBatchUnderWay) {
  const auto role_of = [](const std::string& stack, int stage) {
    const Scenario s = scenario_of(fmt::format(
        R"(id: pools
stack: {{framework: {}}}
model: {}
cluster: {{device: unit, devices_per_node: 2, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: 8, micro: 1, sequence: 32}}
plan: {{pp: 2, cuda_graphs: true}}
)",
        stack, small_model(4)));
    return lower_scenario(s).program.roles.at(static_cast<std::size_t>(stage));
  };
  const Role first = role_of("megatron-lm", 0), last = role_of("megatron-lm", 1);
  EXPECT_EQ(first.graph_kernels, 2 * last.graph_kernels);
  const Role whole = role_of("mlperf megatron", 0);
  EXPECT_GT(whole.graph_kernels, 4 * first.graph_kernels);  // eight micro-batches, and the ends
  const auto pooled = std::count_if(first.slots.begin(), first.slots.end(),
                                    [](const Slot& slot) { return slot.in_graph; });
  EXPECT_GT(pooled, 20);
  for (const Slot& slot : first.slots) {
    const bool pooled_static = slot.space == Space::statics && slot.in_graph;
    EXPECT_FALSE(pooled_static);
  }
}

TEST(Graphs, StacksWithoutThemRefuse) {
  EXPECT_THROW(step_of({.stack = "nanotron"}), InputError);
  EXPECT_THROW(step_of({.stack = "megatron-lm, date: 2022-05"}), InputError);
}

}  // namespace
}  // namespace windtunnel::closed_form
