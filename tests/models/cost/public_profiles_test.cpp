// Do the public profiles say what the data sheets say, and is what is taken from another device
// less sure than there?

#include <gtest/gtest.h>

#include "models/cost/attention_cost.h"
#include "models/cost/collective_cost.h"
#include "models/cost/gemm_cost.h"
#include "models/cost/peak_rate.h"

namespace windtunnel {
namespace {

/// Data sheets, dense: TFLOP/s by type (0: the device has none), GB/s, GB of memory.
struct SheetRow {
  const char* device;
  double fp16, bf16, fp8, fp32, bandwidth, memory;
};

constexpr SheetRow kSheets[] = {
    {"a100-sxm-40gb", 312, 312, 0, 19.5, 1555, 40},
    {"a100-sxm-80gb", 312, 312, 0, 19.5, 2039, 80},
    {"a800-sxm-80gb", 312, 312, 0, 19.5, 2039, 80},
    {"h100-sxm-80gb", 989.4, 989.4, 1979, 67, 3350, 80},
    {"h100-sxm-96gb-hbm2e", 989.4, 989.4, 1979, 67, 2400, 96},
    {"h800-sxm-80gb", 989.4, 989.4, 1979, 67, 3350, 80},
    {"h200-sxm-141gb", 989.4, 989.4, 1979, 67, 4800, 141},
    {"gh200-96gb", 989.4, 989.4, 1979, 67, 4000, 96},
    {"b200-sxm-180gb", 2250, 2250, 4500, 80, 8000, 180},
    {"b300-sxm-288gb", 2250, 2250, 4500, 80, 8000, 288},
    {"gb200-186gb", 2500, 2500, 5000, 80, 8000, 186},
    {"gb300-288gb", 2500, 2500, 5000, 80, 8000, 288},
    {"l40s-48gb", 362, 362, 733, 91.6, 864, 48},
    {"rtx4090-24gb", 165.2, 165.2, 330.3, 82.6, 1008, 24},
    {"mi300x-192gb", 1307.4, 1307.4, 2614.9, 163.4, 5300, 192},
    {"v100-sxm2-32gb", 125, 0, 0, 15.7, 900, 32},
};

double sheet_rate(const Profile& p, Dtype dtype) {
  const auto at = p.chip.tensor_flops.find(dtype);
  return at == p.chip.tensor_flops.end() ? 0.0 : at->second.value / 1e12;
}

TEST(PublicProfiles, SayWhatTheDataSheetsSay) {
  EXPECT_EQ(public_profile_devices().size(), std::size(kSheets));
  for (const SheetRow& row : kSheets) {
    const Profile p = load_public_profile(row.device);
    EXPECT_DOUBLE_EQ(sheet_rate(p, Dtype::fp16), row.fp16) << row.device;
    EXPECT_DOUBLE_EQ(sheet_rate(p, Dtype::bf16), row.bf16) << row.device;
    EXPECT_DOUBLE_EQ(sheet_rate(p, Dtype::fp8), row.fp8) << row.device;
    EXPECT_DOUBLE_EQ(sheet_rate(p, Dtype::fp32), row.fp32) << row.device;
    EXPECT_DOUBLE_EQ(p.chip.memory_bandwidth.value / 1e9, row.bandwidth) << row.device;
    // A data sheet rounds to a GB or a GiB, and ECC and the driver take their part.
    EXPECT_LT(p.memory.usable_bytes.value, row.memory * (1 << 30)) << row.device;
    EXPECT_GT(p.memory.usable_bytes.value, 0.9 * row.memory * (1 << 30)) << row.device;
  }
}

/// What is taken from another device (docs/public_profiles.md).
struct DerivedRow {
  const char* device;
  const char* from;
};

constexpr DerivedRow kDerived[] = {
    {"a800-sxm-80gb", "a100-sxm-80gb"},  {"h800-sxm-80gb", "h100-sxm-80gb"},
    {"gh200-96gb", "h100-sxm-80gb"},     {"h100-sxm-96gb-hbm2e", "h100-sxm-80gb"},
    {"gb300-288gb", "gb200-186gb"},      {"b300-sxm-288gb", "b200-sxm-180gb"},
    {"l40s-48gb", "a100-sxm-80gb"},      {"rtx4090-24gb", "a100-sxm-80gb"},
    {"v100-sxm2-32gb", "a100-sxm-80gb"}, {"mi300x-192gb", "a100-sxm-80gb"},
};

constexpr CostClass kClasses[] = {CostClass::gemm,   CostClass::attention, CostClass::memory,
                                  CostClass::nvlink, CostClass::network,   CostClass::host};

TEST(PublicProfiles, WhatIsTakenFromAnotherDeviceIsLessSure) {
  for (const DerivedRow& row : kDerived) {
    const Profile p = load_public_profile(row.device), from = load_public_profile(row.from);
    for (const CostClass cls : kClasses) {
      EXPECT_GT(p.class_sigma.at(cls).value, from.class_sigma.at(cls).value)
          << row.device << " " << name_of(cls);
    }
    EXPECT_GT(p.gemm.efficiency.sigma, from.gemm.efficiency.sigma) << row.device;
    for (const GemmTable& table : p.gemm_tables) {
      EXPECT_GT(table.sigma, from.gemm_tables.front().sigma) << row.device;
    }
    ASSERT_EQ(p.memory_bound.size(), from.memory_bound.size()) << row.device;
    for (std::size_t i = 0; i < p.memory_bound.size(); ++i) {
      EXPECT_GE(p.memory_bound[i].efficiency.sigma, from.memory_bound[i].efficiency.sigma)
          << row.device << " " << p.memory_bound[i].group;
    }
    for (const auto& [item, figure] : p.host) {
      EXPECT_GT(figure.sigma, from.host.at(item).sigma) << row.device;
    }
  }
}

Placement inside(int ranks) {
  return {.ranks = ranks, .per_node = ranks, .per_domain = ranks, .devices_per_node = 8};
}

double bus(const Profile& p, int ranks) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const CollectiveQuery q{CommKind::all_reduce, kLarge, inside(ranks)};
  const double factor = 2.0 * (ranks - 1) / ranks;
  return factor * static_cast<double>(kLarge) / collective_cost(p, q).time.value / 1e9;
}

TEST(PublicProfiles, CutLinksAreAsSlowAsTheyWereMeasured) {
  constexpr double kPlateau = 0.06;  // 1 GiB is a few per cent below the plateau
  EXPECT_NEAR(bus(load_public_profile("h800-sxm-80gb"), 8) / 215, 1.0, kPlateau);  // nccl#1374
  const double a100 = bus(load_public_profile("a100-sxm-80gb"), 8);
  EXPECT_NEAR(bus(load_public_profile("a800-sxm-80gb"), 8) / a100, 8.0 / 12, kPlateau);
  // A mesh without a switch: two devices have one link, eight have seven.
  const Profile mi300x = load_public_profile("mi300x-192gb");
  EXPECT_NEAR(bus(mi300x, 8) / 313, 1.0, kPlateau);
  EXPECT_NEAR(bus(mi300x, 2) / 47.7, 1.0, kPlateau);
  EXPECT_LT(bus(load_public_profile("rtx4090-24gb"), 8), 30);  // PCIe
  EXPECT_LT(bus(load_public_profile("l40s-48gb"), 8), 30);
}

TEST(PublicProfiles, LargeProductsReachTheShareThatWasPublished) {
  struct Row {
    const char* device;
    double best;  // TFLOP/s, docs/public_profiles.md; large products stay below it
  };
  constexpr double kLeastOfBest = 0.80;
  for (const Row row : {Row{"l40s-48gb", 269.2}, Row{"rtx4090-24gb", 165.1},
                        Row{"v100-sxm2-32gb", 90}, Row{"mi300x-192gb", 668.4}}) {
    const GemmProblem problem{.m = 8192, .n = 8192, .k = 8192, .dtype = Dtype::fp16};
    const Profile p = load_public_profile(row.device);
    const double reached = problem.flops() / gemm_problem_cost(p, problem).time.value / 1e12;
    EXPECT_LT(reached, row.best) << row.device;
    EXPECT_GT(reached, kLeastOfBest * row.best) << row.device;
  }
}

TEST(PublicProfiles, VoltaHasNoBf16AndNoFlashAttention2) {
  const Profile p = load_public_profile("v100-sxm2-32gb");
  EXPECT_TRUE(has_peak_rate(p, Dtype::fp16));
  EXPECT_FALSE(has_peak_rate(p, Dtype::bf16));
  EXPECT_EQ(peak_rate(p, Dtype::bf16).value, p.chip.tensor_flops.at(Dtype::fp32).value);
  Shape shape{.kernel = Kernel::flash_fwd,
              .in = Dtype::fp16,
              .out = Dtype::fp16,
              .attr = kCausal,
              .variant = static_cast<std::uint8_t>(AttentionVariant::flash2)};
  shape.dims = {1, 2048, 16, 16, 128};
  const OpCost cost = attention_cost(p, shape);
  EXPECT_EQ(cost.origin.basis, Basis::assumed);
  EXPECT_GE(cost.sigma, 0.3);  // the row's own, wider than the fallback's
}

}  // namespace
}  // namespace windtunnel
