// Is every kernel priced, and do attention, memory-bound and host costs follow their sources?

#include <gtest/gtest.h>

#include "models/cost/attention_cost.h"
#include "models/cost/memory_cost.h"
#include "models/cost/profile_cost.h"
#include "models/cost/unit_cost.h"

namespace windtunnel {
namespace {

constexpr double kFitError = 0.05;  // docs/cost_attention.md: worst row of the fits used here

Shape flash(Kernel kernel, AttentionVariant variant, std::int64_t micro, std::int64_t s,
            std::int64_t heads, std::int64_t d) {
  Shape shape{.kernel = kernel,
              .in = Dtype::bf16,
              .out = Dtype::bf16,
              .attr = kCausal,
              .variant = static_cast<std::uint8_t>(variant)};
  shape.dims = {micro, s, heads, heads, d};
  return shape;
}

double tflops(const Profile& p, const Shape& s) {
  return attention_flops(s) / attention_cost(p, s).time.value / 1e12;
}

double forward_backward(const Profile& p, AttentionVariant variant, std::int64_t s) {
  const std::int64_t micro = 16384 / s;
  const Shape f = flash(Kernel::flash_fwd, variant, micro, s, 16, 128);
  const Shape b = flash(Kernel::flash_bwd, variant, micro, s, 16, 128);
  return (attention_flops(f) + attention_flops(b)) /
         (attention_cost(p, f).time.value + attention_cost(p, b).time.value) / 1e12;
}

TEST(AttentionCost, PublishedForwardAndBackwardRates) {
  const Profile a100 = load_public_profile("a100-sxm-80gb");
  const Profile h100 = load_public_profile("h100-sxm-80gb");
  struct Row {
    std::int64_t s;
    double a100, h100;  // flash-attention 2, causal, d 128, forward + backward
  };
  for (const Row row : {Row{1024, 133, 221}, Row{2048, 155, 265}, Row{8192, 182, 308}}) {
    EXPECT_NEAR(forward_backward(a100, AttentionVariant::flash2, row.s) / row.a100, 1.0, kFitError);
    EXPECT_NEAR(forward_backward(h100, AttentionVariant::flash2, row.s) / row.h100, 1.0, kFitError);
  }
  EXPECT_NEAR(
      tflops(h100, flash(Kernel::flash_fwd, AttentionVariant::flash3, 2, 8192, 16, 128)) / 602, 1.0,
      kFitError);
}

TEST(AttentionCost, AWindowCostsItsPairs) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  Shape shape = flash(Kernel::flash_fwd, AttentionVariant::flash2, 1, 16384, 32, 128);
  const double full = attention_flops(shape);
  const OpCost all = attention_cost(p, shape);
  shape.dims[6] = 1024;
  // s w - w^2 / 2 pairs against s^2 / 2.
  EXPECT_DOUBLE_EQ(attention_flops(shape) / full, (16.0 - 0.5) / 128.0);
  const OpCost local = attention_cost(p, shape);
  EXPECT_LT(local.time.value, all.time.value);
  EXPECT_GT(local.time.value, all.time.value * (16.0 - 0.5) / 128.0);  // shorter loops are slower
  EXPECT_EQ(local.origin.basis, Basis::assumed);
  EXPECT_GT(local.sigma, all.sigma);
  // A window of nearly the sequence costs nearly what the sequence does.
  shape.dims[6] = 16383;
  EXPECT_NEAR(attention_cost(p, shape).time.value / all.time.value, 1.0, 0.01);
  shape.dims[6] = 16384;
  EXPECT_EQ(attention_cost(p, shape).time.value, all.time.value);
}

TEST(AttentionCost, FewHeadsLeaveSmsIdle) {
  // TransformerEngine on an A100 PCIe card, causal, s 4096, d 128, one sample: 185 TFLOP/s with
  // 64 heads, 121 with 8, 80 with 4 (SimuMax).
  const Profile p = load_public_profile("a100-sxm-80gb");
  const auto rate = [&](std::int64_t heads) {
    return tflops(p, flash(Kernel::flash_fwd, AttentionVariant::flash2, 1, 4096, heads, 128));
  };
  constexpr double kOtherCard = 0.15;
  EXPECT_NEAR(rate(64) / 185, 1.0, kOtherCard);
  EXPECT_NEAR(rate(8) / 121, 1.0, kOtherCard);
  EXPECT_NEAR(rate(4) / 80, 1.0, kOtherCard);
}

TEST(AttentionCost, FallsBackAndSaysSo) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  const OpCost c =
      attention_cost(p, flash(Kernel::flash_fwd, AttentionVariant::flash3, 1, 2048, 16, 128));
  EXPECT_EQ(c.origin.basis, Basis::assumed);
  EXPECT_GT(c.sigma, 0.1);
}

TEST(MemoryCost, AddReachesItsMeasuredRate) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  Shape s{.kernel = Kernel::add, .attr = kFused};
  s.bytes_read = 2LL * 2 * 65536 * 8192;
  s.bytes_written = 2LL * 65536 * 8192;
  const double rate =
      static_cast<double>(s.bytes_read + s.bytes_written) / memory_cost(p, s).time.value / 1e9;
  EXPECT_NEAR(rate, 1794, 10);  // vidur
}

TEST(MemoryCost, SmallKernelsHaveAFloorAndEagerOnesAreSlower) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  Shape s{.kernel = Kernel::layernorm_fwd, .attr = kFused};
  s.bytes_read = s.bytes_written = 64;
  EXPECT_DOUBLE_EQ(memory_cost(p, s).time.value, 3e-6);
  s.bytes_read = s.bytes_written = 1 << 28;
  const double fused = memory_cost(p, s).time.value;
  s.attr = kAttrNone;
  EXPECT_GT(memory_cost(p, s).time.value, 1.5 * fused);
}

TEST(ProfileCost, EveryKernelHasATimeAnOriginAndAClass) {
  for (const std::string& device : public_profile_devices()) {
    const ProfileCostModel model(load_public_profile(device));
    for (const KernelRow& row : kernel_table()) {
      if (row.cls == KernelClass::none) continue;
      Shape s{.kernel = row.kernel, .in = Dtype::bf16, .out = Dtype::bf16};
      s.dims = {2, 1024, 16, 16, 128, 0};
      if (row.cls == KernelClass::host) s.dims = {0, 3};
      s.bytes_read = s.bytes_written = 1 << 20;
      const OpCost c = model.cost(s);
      EXPECT_GT(c.time.value, 0.0) << device << " " << row.name;
      EXPECT_LT(c.time.value, 1.0) << device << " " << row.name;
      EXPECT_NE(c.cls, CostClass::exact) << row.name;
      EXPECT_GT(c.sigma, 0.0) << row.name;
      EXPECT_FALSE(model.source_text(c.origin.source).empty()) << row.name;
    }
    for (const CostClass cls : {CostClass::gemm, CostClass::attention, CostClass::memory,
                                CostClass::nvlink, CostClass::network, CostClass::host}) {
      EXPECT_GT(model.class_sigma(cls), 0.0) << device << " " << name_of(cls);
    }
  }
}

TEST(ProfileCost, HostWorkRepeatsItsItem) {
  const ProfileCostModel model(load_public_profile("a100-sxm-80gb"));
  Shape s{.kernel = Kernel::host_work};
  s.dims = {static_cast<std::int64_t>(HostItem::backward_node), 7};
  EXPECT_DOUBLE_EQ(model.cost(s).time.value, 7 * model.host(HostItem::backward_node).time.value);
}

TEST(UnitCost, SaysWhatItsTableSays) {
  const UnitCostModel unit({.work = {{{{1, 3}}, Seconds{2.5}}},
                            .collective = {{CommKind::all_gather, Seconds{0.5}}},
                            .hop = {0.1},
                            .launch = {1e-3},
                            .otherwise = {0.25}});
  Shape s{.kernel = Kernel::host_work};
  s.dims = {1, 3};
  EXPECT_EQ(unit.cost(s).time.value, 2.5);
  s.dims = {1, 4};
  EXPECT_EQ(unit.cost(s).time.value, 0.25);
  EXPECT_EQ(unit.collective({CommKind::all_gather, 7, {.ranks = 2}}).time.value, 0.5);
  EXPECT_EQ(unit.collective({CommKind::all_gather, 7, {.ranks = 1}}).time.value, 0.0);
  EXPECT_EQ(unit.collective({CommKind::send_recv, 7, {.ranks = 2}}).time.value, 0.1);
  EXPECT_EQ(unit.host(HostItem::kernel_launch).time.value, 1e-3);
}

}  // namespace
}  // namespace windtunnel
