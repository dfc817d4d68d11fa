// Do gathers and reductions of sharded weights hide as the rules of fully_shard say?
//
// L layers of forward f and backward b, each a unit whose gather takes g and whose reduction r; the
// ends of the model are units that cost nothing; one communicator runs what is issued in order:
//   forward   g + L f                              when g <= f
//             L g + f                              when g >= f
//   backward  g + L b + r                          when g + r <= b
//             g + 2 b + (L - 2)(g + r) + r         when g + r >= b and g <= b
// (the last reduction hides nothing; compute waits for the reduction of the unit before; the gather
// of the next unit is issued before this unit's kernels). Weights that stay whole after forward are
// not gathered again. Where reductions have a communicator of their own, the backward is g + L b +
// r as long as neither takes longer than b.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;  // whole picoseconds, printed as seconds

struct ShardedCase {
  int layers = 4;
  double forward = 1.0, backward = 2.0, gather = 0.5, reduce = 0.5;  // s
  bool reshard = true;
  bool separate = false;  // reductions have a communicator of their own
};

Simulation step_of(const ShardedCase& c) {
  const Scenario scenario = scenario_of(fmt::format(
      R"(id: sharded
model: {model}
cluster:
  device: unit
  devices_per_node: 4
  nodes: 1
  unit: {{layer: {{F: "{f} s", B: "{b} s"}}, collective: {{all_gather: "{g} s", reduce_scatter: "{r} s"}}}}
batch: {{global: 4, micro: 1, sequence: 32}}
plan:
  preset: fsdp2
  sharding: {{reshard_after_forward: {reshard}, separate_reduce_group: {separate}}}
)",
      fmt::arg("model", small_model(c.layers)), fmt::arg("f", c.forward), fmt::arg("b", c.backward),
      fmt::arg("g", c.gather), fmt::arg("r", c.reduce), fmt::arg("reshard", c.reshard),
      fmt::arg("separate", c.separate)));
  return simulate(scenario, {.draws = 0, .trace = true});
}

void expect_step(const char* name, const ShardedCase& c, double expected) {
  const double got = step_of(c).report.step_time_s;
  std::printf("%s: expected %g s, got %.12g s, deviation %.3g s\n", name, expected, got,
              got - expected);
  EXPECT_NEAR(got, expected, kPicosecond);
}

TEST(ShardedWeights, Oracle_O_053_gathers_and_reductions_hide) {
  expect_step("O-053", {.gather = 0.5, .reduce = 0.5}, 4.5 + 9.0);
}

TEST(ShardedWeights, Oracle_O_054_one_communicator_bounds) {
  expect_step("O-054", {.gather = 1.5, .reduce = 1.5}, 7.0 + 13.0);
}

TEST(ShardedWeights, Oracle_O_055_two_communicators) {
  expect_step("O-055", {.gather = 1.5, .reduce = 1.5, .separate = true}, 7.0 + 11.0);
}

TEST(ShardedWeights, Oracle_O_056_weights_stay_whole) {
  expect_step("O-056", {.gather = 1.5, .reduce = 1.5, .reshard = false}, 7.0 + 9.5);
}

TEST(ShardedWeights, Oracle_O_057_eight_layers) {
  expect_step("O-057", {.layers = 8, .gather = 1.5, .reduce = 1.5}, 13.0 + 25.0);
}

TEST(ShardedWeights, Oracle_O_058_long_gathers) {
  expect_step("O-058 one", {.gather = 2.0, .reduce = 1.0}, 22.0);
  expect_step("O-058 two", {.gather = 2.0, .reduce = 1.0, .separate = true}, 20.0);
}

}  // namespace
}  // namespace windtunnel::closed_form
