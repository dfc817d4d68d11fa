// Experts of lowered scenarios against their formulas: rows, bytes, scales, groups, time.

#include "models/architectures/experts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/cost/collective_algebra.h"
#include "models/cost/shape_work.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "program/mesh.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

struct ExpertCase {
  int hidden = 64, experts = 8, top_k = 2, layers = 2;
  const char* more = "";  // of model.moe
  int devices = 4, ep = 2, sequence = 64;
  const char* plan = "sharding: {kind: zero1}";
  const char* device = "h100-sxm-80gb";
};

Scenario scenario_with(const ExpertCase& c, const char* costs = "") {
  return scenario_of(fmt::format(
      R"(id: experts
model: {{layers: {layers}, hidden: {hidden}, heads: 4, vocab: 256, activation: swiglu,
        moe: {{experts: {experts}, top_k: {k}, ffn: 32{more}}}}}
cluster: {{device: {device}, devices_per_node: {devices}, nodes: 1{costs}}}
batch: {{global: {devices}, micro: 1, sequence: {sequence}}}
plan: {{preset: none, ep: {ep}, {plan}}}
)",
      fmt::arg("layers", c.layers), fmt::arg("hidden", c.hidden), fmt::arg("experts", c.experts),
      fmt::arg("k", c.top_k), fmt::arg("more", c.more), fmt::arg("devices", c.devices),
      fmt::arg("ep", c.ep), fmt::arg("sequence", c.sequence), fmt::arg("plan", c.plan),
      fmt::arg("device", c.device), fmt::arg("costs", costs)));
}

Program lowered(const ExpertCase& c) {
  return lower(resolve(scenario_with(c)));
}

template <class T>
void expect_equal(const char* what, T expected, T got) {
  fmt::print("{}: expected {}, got {}\n", what, expected, got);
  EXPECT_EQ(expected, got) << what;
}

const Shape& shape_of(const Program& program, Kernel kernel) {
  for (const Shape& shape : program.shapes) {
    if (shape.kernel == kernel) return shape;
  }
  throw std::runtime_error("no such kernel");
}

const Comm& comm_of(const Program& program, const char* name) {
  for (const Comm& comm : program.comms) {
    if (comm.name == name) return comm;
  }
  throw std::runtime_error("no such communicator");
}

// What the reduction makes of a gradient: the average over the replicas, divided by the scale.
TEST(Experts, Oracle_O_063_gradient_scale) {
  const Program program = lowered({.devices = 16, .ep = 4});
  const std::int64_t scale = shape_of(program, Kernel::scale).dims[1];
  const int replicas = group_size(program.mesh, comm_of(program, "edp"));
  expect_equal("replicas", 4, replicas);
  expect_equal<std::int64_t>("divisor of expert gradients", 16, scale * replicas);
}

// Over cp 2 and dp 8 the groups of 4 are two pairs, and every fourth place has the same experts.
TEST(Experts, ContextParallelRanksCountAsReplicas) {
  const Program program =
      lowered({.devices = 16, .ep = 4, .plan = "cp: 2, cp_kind: ring, sharding: {kind: zero1}"});
  const std::int64_t scale = shape_of(program, Kernel::scale).dims[1];
  expect_equal("replicas", 4, group_size(program.mesh, comm_of(program, "edp")));
  expect_equal<std::int64_t>("divisor of expert gradients", 16, scale * 4);
  expect_equal<std::int64_t>("rows of an expert, of half a sequence", 64 / 2 * 2 / 8,
                             shape_of(program, Kernel::route_fwd).dims[3]);
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::collective || op.collective != Collective::all_to_all) continue;
    expect_equal<std::int64_t>("bytes of a dispatch", 64 / 2 * 2 * 64 * 2,
                               bytes_of(op.dtype, op.elements));
  }
}

// In two shard groups of 8 a rank's four experts are cut over 4 of its group's ranks: it gathers
// the quarters of them, scatters their gradients, and sums its quarter over both groups.
TEST(Experts, ShardsOfExpertsInEachShardGroup) {
  const Program program = lowered(
      {.layers = 1, .devices = 16, .ep = 2, .plan = "sharding: {kind: hsdp, shard_degree: 8}"});
  const std::int64_t whole = 8 / 2 * 3 * 64 * 32;  // E/ep experts of three matrices
  expect_equal("ranks that share them", 4, group_size(program.mesh, comm_of(program, "edp_shard")));
  int gathers = 0, scatters = 0, sums = 0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::collective) continue;
    const std::string& comm = program.comms[op.comm].name;
    if (comm == "edp_shard") {
      const bool gather = op.collective == Collective::all_gather;
      expect_equal(gather ? "gathered" : "scattered", whole, op.elements);
      ++(gather ? gathers : scatters);
    } else if (comm == "dp_replicate" && op.elements == whole / 4) {
      ++sums;
    }
  }
  EXPECT_GT(gathers, 0);
  EXPECT_GT(scatters, 0);
  expect_equal("sums over both groups", scatters, sums);
}

TEST(Experts, Oracle_O_081_capacity) {
  const Program program =
      lowered({.more = ", capacity_factor: 1.25", .devices = 1, .ep = 1, .sequence = 4096});
  expect_equal<std::int64_t>("rows of an expert", 1280,
                             shape_of(program, Kernel::route_fwd).dims[3]);
}

TEST(Experts, Oracle_O_082_bytes_of_dispatch_and_combine) {
  const Program program = lowered({.hidden = 7168,
                                   .experts = 64,
                                   .top_k = 8,
                                   .layers = 1,
                                   .devices = 8,
                                   .ep = 8,
                                   .sequence = 4096});
  int found = 0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::collective || op.collective != Collective::all_to_all) continue;
    ++found;
    expect_equal<std::int64_t>("bf16", 469'762'048, bytes_of(op.dtype, op.elements));
  }
  expect_equal("all-to-alls of a layer", 4, found);
  const MoeShape moe{.experts = 256, .top_k = 8};
  expect_equal<std::int64_t>("fp8", 234'881'024, dispatch_bytes(moe, 4096, 7168, 8));
}

TEST(Experts, Oracle_O_083_what_leaves_a_rank) {
  const Program program = lowered({.experts = 64, .top_k = 1, .devices = 64, .ep = 64});
  const int n = group_size(program.mesh, comm_of(program, "ep"));
  constexpr std::int64_t kBuffer = 64 << 20;
  const double fraction =
      static_cast<double>(wire_bytes(CommKind::all_to_all, n, kBuffer)) / kBuffer;
  expect_equal("fraction of the lowered group", 0.984375, fraction);
  expect_equal("formula", leaving_fraction(64), fraction);
}

/// FLOPs of the experts' products in a step.
double expert_work(const char* more) {
  const Program program = lowered({.more = more});
  double flops = 0.0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::compute) continue;
    const Shape& shape = program.shapes[op.shape];
    if (shape.kernel >= Kernel::grouped_fwd && shape.kernel <= Kernel::grouped_wgrad)
      flops += shape_work(shape).flops;
  }
  return flops;
}

TEST(Experts, Oracle_O_084_load_of_the_busiest_rank) {
  expect_equal("work at 1.5 times the load", 1.5,
               expert_work(", imbalance: 1.5") / expert_work(""));
}

// An expert group that is a context-parallel group: what its all-to-alls expose is ep's alone.
TEST(Experts, AllToAllsOverContextParallelRanksAreExposed) {
  const ExpertCase c{
      .layers = 3, .devices = 2, .ep = 2, .plan = "cp: 2, cp_kind: ulysses", .device = "unit"};
  const Scenario scenario = scenario_with(
      c,
      R"(, unit: {layer: {F: "1 s", B: "2 s"}, attention: {F: "0 s", B: "0 s"}, collective: {all_to_all: "0.25 s"}})");
  const Simulation step = simulate_unit(scenario);
  constexpr int kLayers = 3 * 2;  // of two micro-batches
  expect_equal("step", kLayers * (1.0 + 2.0 + (4 + 8) * 0.25), step.report.step_time_s);
  expect_equal("exposed ep", kLayers * 4 * 0.25, step.report.breakdown.exposed_comm.ep);
  expect_equal("exposed cp", kLayers * 8 * 0.25, step.report.breakdown.exposed_comm.cp);
}

// Four all-to-alls a layer for each micro-batch, none of which hides.
TEST(Experts, AllToAllsAreExposed) {
  const ExpertCase c{.layers = 3, .devices = 2, .ep = 2, .device = "unit"};
  const Scenario scenario = scenario_with(
      c, R"(, unit: {layer: {F: "1 s", B: "2 s"}, collective: {all_to_all: "0.25 s"}})");
  const Simulation step = simulate_unit(scenario);
  expect_equal("step", 3 * (1.0 + 2.0 + 4 * 0.25), step.report.step_time_s);
  expect_equal("exposed ep", 3 * 4 * 0.25, step.report.breakdown.exposed_comm.ep);
}

}  // namespace
}  // namespace windtunnel::closed_form
