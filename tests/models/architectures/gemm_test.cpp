// Does the accounting of a matrix product agree with its closed forms?

#include "models/architectures/gemm.h"

#include <gtest/gtest.h>

#include "models/architectures/logits.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel {
namespace {

constexpr double kExact = 0.0;
constexpr double kPrintedDigits = 1e-7;  // the reference value is printed to eight digits

TEST(Gemm, Oracle_O_032_flops_and_intensity) {
  constexpr GemmShape kShape{.m = 8192, .k = 4096, .n = 6144};
  expect_relative("O-032 FLOPs", 412'316'860'416.0, gemm_flops(kShape).value, kExact);
  expect_relative("O-032 FLOP/B", 1890.4615, gemm_intensity(kShape, Dtype::bf16), kPrintedDigits);
}

TEST(Gemm, Oracle_O_028_backward_is_two_products) {
  const GemmShape forward{.m = 96, .k = 40, .n = 56};
  const GemmShape input_grad{.m = forward.m, .k = forward.n, .n = forward.k};
  const GemmShape weight_grad{.m = forward.k, .k = forward.m, .n = forward.n};
  const double ratio = (gemm_flops(input_grad) + gemm_flops(weight_grad)) / gemm_flops(forward);
  expect_relative("O-028 ratio", 2.0, ratio, kExact);
  expect_relative("O-028 factor", ratio, kGemmBackwardFactor, kExact);
}

TEST(Logits, Oracle_O_041_llama3_logits) {
  constexpr LogitsShape kShape{.tokens = 8192, .vocab_rows = 128'256};
  expect_relative("O-041 bf16", 2'101'346'304.0, logits_bytes(kShape, Dtype::bf16).value, kExact);
  expect_relative("O-041 fp32", 4'202'692'608.0, logits_bytes(kShape, Dtype::fp32).value, kExact);
}

}  // namespace
}  // namespace windtunnel
