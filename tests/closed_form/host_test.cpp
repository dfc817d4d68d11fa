// Is a step bound by its host when launches are slower than kernels, and by its loader when data
// is? Every kernel on device `unit` takes x, a launch l of host time: with N launches
//   T = N l + x when x < l, T = l + N x when x >= l and each kernel is one launch.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;  // whole picoseconds, printed as seconds

Simulation step_of(double kernel_us, double launch_us, const std::string& data = "") {
  return simulate_unit(scenario_of(fmt::format(
      R"(id: host
model: {}
cluster:
  device: unit
  devices_per_node: 1
  nodes: 1
  unit: {{layer: {{F: "{x} us", B: "{x} us"}}, launch: "{l} us", else: "{x} us"}}
batch: {{global: 8, micro: 1, sequence: 32}}
plan: {{}}
{data})",
      small_model(4), fmt::arg("x", kernel_us), fmt::arg("l", launch_us), fmt::arg("data", data))));
}

struct Issued {
  std::int64_t kernels = 0, launches = 0;
};

Issued issued(const Program& program) {
  Issued n;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.kind != OpKind::compute || !runs(op, call, 1)) continue;
      ++n.kernels;
      n.launches += op.launches;
    }
  }
  return n;
}

void expect_microseconds(const char* what, double expected_us, double got_s) {
  std::printf("%s: expected %.9g us, got %.9g us, deviation %.3g us\n", what, expected_us,
              got_s * 1e6, got_s * 1e6 - expected_us);
  EXPECT_NEAR(got_s, expected_us * 1e-6, kPicosecond);
}

TEST(Launches, Oracle_O_128_launch_bound_step) {
  const Simulation s = step_of(2, 5);
  const Issued n = issued(s.lowered.program);
  EXPECT_GT(n.kernels, 300);
  // The last kernel of a step is one launch, so N l is when it can start.
  expect_microseconds("O-128: N l + x", static_cast<double>(n.launches) * 5 + 2,
                      s.report.step_time_s);
}

TEST(Launches, Oracle_O_129_device_bound_step) {
  const Simulation s = step_of(2, 0.25);
  const Issued n = issued(s.lowered.program);
  expect_microseconds("O-129: l + N x", 0.25 + static_cast<double>(n.kernels) * 2,
                      s.report.step_time_s);
}

/// 0.5 s of work on one device.
StepReport loading_step(const std::string& load, int workers) {
  return simulate_unit(scenario_of(fmt::format(
                           R"(id: input
model: {}
cluster: {{device: unit, devices_per_node: 1, nodes: 1, unit: {{layer: {{F: "125 ms", B: "375 ms"}}}}}}
batch: {{global: 1, micro: 1, sequence: 32}}
plan: {{}}
data: {{load_time: "{}", workers: {}}}
)",
                           small_model(1), load, workers)))
      .report;
}

// max(device, load / workers): 3 s a batch with 4 workers beside 0.5 s of work.
TEST(Input, Oracle_O_133_loader_bound_step) {
  const StepReport bound = loading_step("3 s", 4);
  expect_relative("O-133", 0.75, bound.step_time_s, kPicosecond);
  expect_relative("O-133 input", 0.25, bound.breakdown.input, kPicosecond);
  expect_relative("O-133, device bound", 0.5, loading_step("1 s", 4).step_time_s, kPicosecond);
  EXPECT_EQ(loading_step("1 s", 4).breakdown.input, 0.0);
}

// Without workers the training process loads: nothing is fetched ahead, the times add.
TEST(Input, WithoutWorkersLoadingAddsToTheStep) {
  const StepReport report = loading_step("3 s", 0);
  expect_relative("device + load", 3.5, report.step_time_s, kPicosecond);
  expect_relative("input", 3.0, report.breakdown.input, kPicosecond);
}

TEST(Input, IsTheBottleneckWhereItIsMostOfTheStep) {
  EXPECT_EQ(loading_step("3 s", 4).bottleneck, "compute");  // 0.5 s of 0.75 s
  const StepReport bound = loading_step("12 s", 4);
  EXPECT_EQ(bound.bottleneck, "host");
  EXPECT_NE(bound.lever.find("data workers"), std::string::npos);
  EXPECT_EQ(bound.step_time_interval_s[0], 3.0);
}

}  // namespace
}  // namespace windtunnel::closed_form
