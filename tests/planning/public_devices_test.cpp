// Has every device of the format a public profile, and does a step on it look like one?

#include <gtest/gtest.h>

#include <algorithm>

#include "models/cost/profile.h"
#include "planning/simulate.h"
#include "scenarios/device_names.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

/// Those that a data sheet cannot describe: one is calibrated, one has its costs in the scenario.
bool has_data_sheet(std::string_view device) {
  return device != "cpu" && device != "unit";
}

Simulation step_on(const std::string& device, const std::string& compute) {
  const std::string text =
      "model: gpt2-xl\n"
      "cluster: {device: " +
      device +
      ", devices_per_node: 8, nodes: 1}\n"
      "batch: {global: 64, micro: 4, sequence: 1024}\n"
      "stack: {framework: megatron-lm, date: 2024-06}\n"
      "plan: {preset: megatron, sharding: {kind: zero1}, precision: {compute: " +
      compute + "}}\n";
  return simulate(load_scenarios_text(text, "test.yaml").scenarios.front(), {});
}

TEST(PublicDevices, EveryDeviceWithADataSheetHasAProfile) {
  std::vector<std::string> named;
  for (const std::string_view device : device_names()) {
    if (has_data_sheet(device)) named.emplace_back(device);
  }
  std::sort(named.begin(), named.end());
  EXPECT_EQ(named, public_profile_devices());
}

TEST(PublicDevices, AStepOnEachIsPlausible) {
  // Data-parallel GPT-2 XL in micro-batches of 4: 10-60 % of the peak on anything that was
  // published; Blackwell waits for its host.
  constexpr double kLeastMfu = 0.1, kMostMfu = 0.6;
  for (const std::string& device : public_profile_devices()) {
    const bool volta = device == "v100-sxm2-32gb";
    const StepReport report = step_on(device, volta ? "fp16" : "bf16").report;
    EXPECT_GT(report.mfu, kLeastMfu) << device;
    EXPECT_LT(report.mfu, kMostMfu) << device;
    const auto [low, high] = report.step_time_interval_s;
    EXPECT_LT(low, report.step_time_s) << device;
    EXPECT_GT(high, report.step_time_s) << device;
  }
}

double width(const std::string& device) {
  const auto [low, high] = step_on(device, "bf16").report.step_time_interval_s;
  return high / low;
}

TEST(PublicDevices, TheIntervalIsWiderThanThatOfTheSibling) {
  EXPECT_GT(width("a800-sxm-80gb"), width("a100-sxm-80gb"));
  EXPECT_GT(width("h800-sxm-80gb"), width("h100-sxm-80gb"));
  EXPECT_GT(width("gh200-96gb"), width("h100-sxm-80gb"));
  EXPECT_GT(width("b300-sxm-288gb"), width("b200-sxm-180gb"));
  EXPECT_GT(width("gb300-288gb"), width("gb200-186gb"));
}

TEST(PublicDevices, VoltaRefusesBf16) {
  try {
    step_on("v100-sxm2-32gb", "bf16");
    FAIL() << "a V100 has no bf16";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics.front().message,
              "the profile of v100-sxm2-32gb has no rate of bf16 products");
  }
}

}  // namespace
}  // namespace windtunnel
