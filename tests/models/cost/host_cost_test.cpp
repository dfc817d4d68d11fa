// Copies and host steps against their formulas, and the table the host's rate comes from.

#include "models/cost/host_cost.h"

#include <gtest/gtest.h>

#include "models/cost/profile_cost.h"

namespace windtunnel {
namespace {

constexpr double kExact = 1e-12;  // relative: the formula in other words

Shape copy_of(Kernel kernel, std::int64_t bytes) {
  return {.kernel = kernel, .dims = {bytes / 4}, .bytes_read = bytes, .bytes_written = bytes};
}

TEST(HostCost, ACopyRunsAtTheLinksPace) {
  const Profile profile = load_public_profile("a100-sxm-80gb");
  const HostShare host{.bandwidth = {409.6e9 / 8}, .assumed = false};
  const ProfileCostModel model(profile, host);
  const double fixed = profile.memory_kernel_fixed.value;
  for (const Kernel kernel : {Kernel::to_host, Kernel::to_device}) {
    const OpCost cost = model.cost(copy_of(kernel, 1 << 30));
    EXPECT_NEAR(cost.time.value / (fixed + (1 << 30) / 24e9), 1.0, kExact);
    EXPECT_EQ(cost.cls, CostClass::link);
  }
}

TEST(HostCost, GraceHopperHasALinkOfItsOwnEachWay) {
  const Profile profile = load_public_profile("gh200-96gb");
  const ProfileCostModel model(profile, {.bandwidth = {512e9}, .assumed = false});
  const double out = model.cost(copy_of(Kernel::to_host, 1 << 30)).time.value;
  const double back = model.cost(copy_of(Kernel::to_device, 1 << 30)).time.value;
  const double fixed = profile.memory_kernel_fixed.value;
  EXPECT_NEAR(out / (fixed + (1 << 30) / 297e9), 1.0, kExact);
  EXPECT_NEAR(back / (fixed + (1 << 30) / 375e9), 1.0, kExact);
}

TEST(HostCost, SlowHostMemoryHoldsCopiesUp) {
  const Profile profile = load_public_profile("a100-sxm-80gb");
  const ProfileCostModel model(profile, {.bandwidth = {10e9}, .assumed = true});
  const double time = model.cost(copy_of(Kernel::to_host, 1 << 30)).time.value;
  EXPECT_NEAR(time / (profile.memory_kernel_fixed.value + (1 << 30) / 10e9), 1.0, kExact);
}

// 2101.06840, table 4: seconds of a step by billions of parameters, 16 bytes read and 14 written of
// each, on 256 GB/s.
TEST(HostCost, AHostsStepTakesWhatZeROOffloadMeasured) {
  struct Row {
    double parameters, one_pass, torch;
  };
  const Row rows[] = {{1e9, 0.22, 1.39},
                      {2e9, 0.51, 2.75},
                      {4e9, 1.03, 5.71},
                      {8e9, 2.41, 11.93},
                      {10e9, 2.57, 14.76}};
  const HostShare host{.bandwidth = {256e9}, .assumed = false};
  constexpr double kOff = 0.20;  // what the rows' rates differ by from the last one's
  for (const Row& row : rows) {
    const auto n = static_cast<std::int64_t>(row.parameters);
    Shape shape{.kernel = Kernel::adamw,
                .attr = kOnHost | kFused,
                .dims = {n},
                .bytes_read = 16 * n,
                .bytes_written = 14 * n};
    EXPECT_NEAR(host_kernel_cost(host, shape).time.value / row.one_pass, 1.0, kOff);
    shape.attr = kOnHost;
    EXPECT_NEAR(host_kernel_cost(host, shape).time.value / row.torch, 1.0, kOff);
  }
}

}  // namespace
}  // namespace windtunnel
