// Does the tile-and-wave model reproduce the tables it was fitted to, and behave outside them?

#include "models/cost/gemm_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace windtunnel {
namespace {

struct Errors {
  double mean, p90, bias;
};

Errors summary(const std::vector<double>& logs) {
  std::vector<double> absolute;
  double bias = 0.0;
  for (const double e : logs) {
    absolute.push_back(std::abs(std::expm1(e)));
    bias += std::expm1(e);
  }
  std::sort(absolute.begin(), absolute.end());
  double sum = 0.0;
  for (const double a : absolute) sum += a;
  const auto n = static_cast<double>(absolute.size());
  return {sum / n, absolute[absolute.size() * 9 / 10], bias / n};
}

Shape linear(Kernel kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  Shape s{.kernel = kernel, .in = Dtype::bf16, .out = Dtype::bf16, .acc = Dtype::fp32};
  s.dims = {m, n, k};
  return s;
}

double tflops(const Profile& p, std::int64_t m, std::int64_t n, std::int64_t k) {
  const OpCost c = gemm_cost(p, linear(Kernel::gemm_fwd, m, n, k));
  return 2e-12 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) /
         c.time.value;
}

struct DeviceRow {
  const char* device;
  double mean, p90;  // leave-one-out limits: docs/cost_gemm.md, with a tenth of slack
};

TEST(GemmCost, LeaveOneOutErrorIsTheDocumentedOne) {
  for (const DeviceRow& row :
       {DeviceRow{"a100-sxm-80gb", 0.050, 0.11}, DeviceRow{"h100-sxm-80gb", 0.075, 0.19},
        DeviceRow{"b200-sxm-180gb", 0.11, 0.27}}) {
    const Errors e = summary(gemm_leave_one_out(load_public_profile(row.device), 512));
    std::printf("%s: mean %.4f p90 %.4f bias %+.4f\n", row.device, e.mean, e.p90, e.bias);
    EXPECT_LT(e.mean, row.mean) << row.device;
    EXPECT_LT(e.p90, row.p90) << row.device;
    EXPECT_LT(std::abs(e.bias), 0.03) << row.device;
  }
}

TEST(GemmCost, AMeasuredShapeIsTakenAsMeasured) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  EXPECT_NEAR(tflops(p, 4096, 14336, 8192), 249.3, 1e-6);
  const OpCost c = gemm_cost(p, linear(Kernel::gemm_fwd, 4096, 14336, 8192));
  EXPECT_EQ(c.origin.basis, Basis::measured);
  EXPECT_EQ(c.cls, CostClass::gemm);
}

TEST(GemmCost, GradientsSwapTheirDimensions) {
  // 4096 x 1536 over 5120: forward 245.8, input gradient 230.1, weight gradient in fp32 194.8
  // TFLOP/s on the PCIe card; the table's scale to the SXM one is 1.029.
  const Profile p = load_public_profile("a100-sxm-80gb");
  Shape wgrad = linear(Kernel::gemm_wgrad, 4096, 1536, 5120);
  wgrad.out = Dtype::fp32;
  wgrad.attr = kAccumulate;
  const double flop = 2.0 * 4096 * 1536 * 5120;
  EXPECT_NEAR(flop / gemm_cost(p, wgrad).time.value / 1e12, 194.8 * 1.029, 1e-6);
  const Shape dgrad = linear(Kernel::gemm_dgrad, 4096, 1536, 5120);
  EXPECT_NEAR(flop / gemm_cost(p, dgrad).time.value / 1e12, 230.1 * 1.029, 1e-6);
}

TEST(GemmCost, NeverFasterThanThePeakAndNeverFallsWithSize) {
  for (const std::string& device : public_profile_devices()) {
    const Profile p = load_public_profile(device);
    for (const double n : {256.0, 1000.0, 12288.0}) {
      double before = 0.0;
      for (double m = 16; m <= 65536; m *= 2) {
        const GemmProblem problem{.m = m, .n = n, .k = 4096, .dtype = Dtype::fp16};
        const double t = modelled_gemm_time(p, problem).value;
        EXPECT_GE(t, before) << device << " m " << m << " n " << n;
        EXPECT_GT(t, problem.flops() / p.chip.tensor_flops.at(Dtype::fp16).value) << device;
        before = t;
      }
    }
  }
}

TEST(GemmCost, NarrowSlicesAndSmallRowsReachLess) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  EXPECT_LT(tflops(p, 4096, 640, 8192), 0.85 * tflops(p, 4096, 8192, 8192));
  EXPECT_LT(tflops(p, 128, 8192, 8192), 0.6 * tflops(p, 4096, 8192, 8192));
}

TEST(GemmCost, MisalignedRowsAreSlow) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  EXPECT_LT(tflops(p, 8192, 10922, 4096), 0.75 * tflops(p, 8192, 10944, 4096));
}

TEST(GemmCost, BatchedAttentionProducts) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  Shape s{.kernel = Kernel::scores_fwd, .in = Dtype::fp16, .out = Dtype::fp16};
  s.dims = {4, 2048, 8, 8, 96};
  const double flop = 2.0 * 4 * 8 * 2048 * 2048 * 96;
  const double forward = flop / gemm_cost(p, s).time.value / 1e12;
  EXPECT_GT(forward, 60.0);   // short inner dimension: far from the peak
  EXPECT_LT(forward, 200.0);  // but not launch-bound
  s.kernel = Kernel::scores_bwd;
  const double backward = 2.0 * flop / gemm_cost(p, s).time.value / 1e12;
  EXPECT_GT(backward, 60.0);
  EXPECT_LT(backward, 240.0);
  s.dims[4] = 100;  // 200-byte rows
  s.kernel = Kernel::scores_fwd;
  EXPECT_LT(2.0 * 4 * 8 * 2048 * 2048 * 100 / gemm_cost(p, s).time.value / 1e12, forward);
}

/// Together they take what the whole product takes, and each its fixed time.
TEST(GemmCost, ProductsInTurnFillEachOthersWaves) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  constexpr std::int64_t kParts = 4, kRows = 2048;
  const auto fp8 = [](std::int64_t m, std::int64_t turns) {
    Shape s = linear(Kernel::gemm_fwd, m, 9216, 12288);
    s.in = Dtype::fp8;
    s.dims[5] = turns;
    return s;
  };
  const double whole = gemm_cost(p, fp8(kRows, 0)).time.value;
  const double part = gemm_cost(p, fp8(kRows / kParts, kParts)).time.value;
  const double alone = gemm_cost(p, fp8(kRows / kParts, 0)).time.value;
  const double fixed = p.gemm.fixed.value;
  constexpr double kPowerLimit = 0.03;  // a shorter product runs at a higher clock
  std::printf("whole %.6g s, in turn %.6g s, one after the other %.6g s\n", whole, kParts * part,
              kParts * alone);
  EXPECT_NEAR(kParts * (part - fixed) / (whole - fixed), 1.0, kPowerLimit);
  EXPECT_GT(alone, part);
}

}  // namespace
}  // namespace windtunnel
