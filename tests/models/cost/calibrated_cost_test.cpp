// Prices of a calibration: the shape that was measured, the fit for others, and what is said beyond
// its range.

#include "models/cost/calibrated_cost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-12;

Shape gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kernel = Kernel::gemm_fwd,
          .in = Dtype::fp32,
          .out = Dtype::fp32,
          .dims = {m, n, k},
          .bytes_read = 4 * (m * k + n * k),
          .bytes_written = 4 * m * n};
}

Calibration calibration() {
  Calibration c;
  c.source = 1;
  c.extrapolation_source = 2;
  c.measured[measured_shape(gemm(64, 64, 64))] = {.seconds = 3e-5, .sigma = 0.01, .samples = 9};
  c.kernels[{Kernel::gemm_fwd, Dtype::fp32}] = {.fixed_s = 1e-6,
                                                .seconds_per_flop = 1e-10,
                                                .seconds_per_byte = 2e-10,
                                                .error = 0.08,
                                                .p90 = 0.2,
                                                .flops = {1e4, 1e8},
                                                .bytes = {1e3, 1e7},
                                                .samples = 12};
  return c;
}

TEST(CalibratedCost, AMeasuredShapeCostsItsMedian) {
  const OpCost cost = calibrated_cost(calibration(), gemm(64, 64, 64));
  EXPECT_EQ(cost.time.value, 3e-5);
  EXPECT_EQ(cost.sigma, 0.01);
  EXPECT_EQ(cost.cls, CostClass::gemm);
  EXPECT_EQ(cost.origin.basis, Basis::measured);
  EXPECT_EQ(cost.origin.source, 1);
}

TEST(CalibratedCost, AnotherShapeCostsTheFit) {
  const OpCost cost = calibrated_cost(calibration(), gemm(64, 64, 128));
  const double flops = 2.0 * 64 * 64 * 128, bytes = 4.0 * (64 * 128 + 64 * 128 + 64 * 64);
  EXPECT_NEAR(cost.time.value, 1e-6 + 1e-10 * flops + 2e-10 * bytes, kRounding * 1e-6);
  EXPECT_NEAR(cost.sigma, 0.08 * std::sqrt(std::acos(-1.0) / 2), kRounding);
  EXPECT_EQ(cost.origin.basis, Basis::modelled);
  EXPECT_EQ(cost.origin.source, 1);
}

TEST(CalibratedCost, AnotherAttributeIsAnotherShape) {
  Shape biased = gemm(64, 64, 64);
  biased.attr = kHasBias;
  EXPECT_EQ(calibrated_cost(calibration(), biased).origin.basis, Basis::modelled);
}

TEST(CalibratedCost, BeyondTheRangeItSaysSoAndIsLessSure) {
  const OpCost inside = calibrated_cost(calibration(), gemm(256, 256, 512));
  const OpCost near = calibrated_cost(calibration(), gemm(512, 512, 512));
  const OpCost far = calibrated_cost(calibration(), gemm(4096, 4096, 4096));
  EXPECT_EQ(inside.origin.source, 1);
  EXPECT_EQ(near.origin.source, 2);
  EXPECT_GT(near.sigma, inside.sigma);
  EXPECT_GT(far.sigma, near.sigma);
  EXPECT_LE(calibrated_cost(calibration(), gemm(1 << 20, 1 << 20, 1 << 20)).sigma, 1.5);
}

TEST(CalibratedCost, KnowsWhatItCannotPrice) {
  Shape other = gemm(8, 8, 8);
  EXPECT_TRUE(is_calibrated(calibration(), other));
  other.in = Dtype::bf16;
  EXPECT_FALSE(is_calibrated(calibration(), other));
  EXPECT_TRUE(is_calibrated(calibration(), Shape{.kernel = Kernel::host_work}));
}

}  // namespace
}  // namespace windtunnel
