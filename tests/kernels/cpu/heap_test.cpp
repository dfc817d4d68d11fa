// No CPU kernel takes a large block of heap memory: a step's memory is the program's own.
//
// Every allocation made by the objects of this binary goes through the functions below (the
// linker's
// --wrap, and operator new); what was the largest since the last reset is kept.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/flash.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/loss.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/rope.h"
#include "tests/counted_heap.h"
#include "tests/kernels/gradient_check.h"

namespace windtunnel {
namespace {

/// What a step may take at once beside the program's allocations.
constexpr std::size_t kLargeBlock = std::size_t{64} << 10;

template <class Run>
void expect_no_large_block(const char* what, Run run) {
  test::forget_blocks();
  run();
  EXPECT_LT(test::largest_block(), kLargeBlock) << what;
}

template <class T>
class CpuHeap : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuHeap, RealTypes);

TEST(CpuHeapCount, SeesVectorsAndMalloc) {
  test::forget_blocks();
  const std::vector<char> block(kLargeBlock);
  EXPECT_EQ(test::largest_block(), kLargeBlock);
  void* volatile kept = std::malloc(kLargeBlock + block.size());
  std::free(kept);
  EXPECT_EQ(test::largest_block(), 2 * kLargeBlock);
}

TYPED_TEST(CpuHeap, MatrixProducts) {
  using T = TypeParam;
  for (const reference::GemmDims d : {reference::GemmDims{.m = 700, .n = 500, .k = 600},
                                      {.m = 1, .n = 3000, .k = 3000},
                                      {.m = 3000, .n = 1, .k = 3000}}) {
    const std::vector<T> a(static_cast<std::size_t>(d.m * d.k), T{1}),
        w(static_cast<std::size_t>(d.n * d.k), T{1});
    std::vector<T> c(static_cast<std::size_t>(d.m * d.n)), da = a, dw = w, bias(3000);
    expect_no_large_block("gemm", [&] {
      cpu::gemm_fwd(d, a.data(), w.data(), bias.data(), c.data());
      cpu::gemm_dgrad(d, c.data(), w.data(), da.data());
      cpu::gemm_wgrad(d, reference::Update::accumulate, c.data(), a.data(), dw.data());
      cpu::bias_bwd(d, c.data(), bias.data());
    });
  }
}

TYPED_TEST(CpuHeap, Attention) {
  using T = TypeParam;
  constexpr reference::AttentionDims d{.micro = 1, .s = 400, .a = 2, .k = 1, .d = 128};
  const std::vector<T> qkv = reference::draw<T>(d.s * 4 * d.d, 1);
  const std::size_t scores = 2 * 400 * 400;
  std::vector<T> out(400 * 2 * 128), lse(800), dqkv = qkv, p(scores), dp(scores);
  const reference::FlashOptions options{
      .mask = {.bias = reference::Bias::alibi, .heads = 2},
      .dropout =
          reference::FlashDropout{.key = {.probability = 0.5}, .elements = {.s = 400, .a = 2}}};
  expect_no_large_block("flash", [&] {
    cpu::flash_fwd(d, options, qkv.data(), out.data(), lse.data());
    cpu::flash_bwd<T>(d, options, {out.data(), qkv.data(), out.data(), lse.data(), dqkv.data()});
  });
  expect_no_large_block("unfused", [&] {
    cpu::scores_fwd(d, qkv.data(), p.data());
    cpu::softmax_fwd(d, options.mask, p.data(), p.data());
    cpu::context_fwd(d, p.data(), qkv.data(), out.data());
    cpu::context_bwd<T>(d, {out.data(), p.data(), qkv.data(), dp.data(), dqkv.data()});
    cpu::softmax_bwd(d, options.mask, dp.data(), p.data(), dp.data());
    cpu::scores_bwd(d, dp.data(), qkv.data(), dqkv.data());
  });
}

TYPED_TEST(CpuHeap, RowByRow) {
  using T = TypeParam;
  constexpr std::int64_t t = 16, h = 20000, n = t * h;
  const std::vector<T> x = reference::draw<T>(2 * n, 1);
  std::vector<T> y(2 * n), v(2 * n, T{1}), row(h), stats(2 * t);
  std::vector<std::uint8_t> mask(n);
  const std::vector<std::int64_t> labels(t, 3);
  T* const per_row = stats.data();
  expect_no_large_block("norms", [&] {
    cpu::layernorm_fwd<T>({t, h}, {x.data(), row.data(), row.data(), y.data(), per_row});
    cpu::layernorm_bwd<T>(
        {t, h}, {x.data(), x.data(), row.data(), per_row, y.data(), row.data(), row.data()});
    cpu::rmsnorm_fwd<T>({t, h}, {x.data(), row.data(), nullptr, y.data(), per_row});
    cpu::rmsnorm_bwd<T>({t, h},
                        {x.data(), x.data(), row.data(), per_row, y.data(), row.data(), nullptr});
  });
  expect_no_large_block("mlp, rope and dropout", [&] {
    const cpu::ActivationDims d{.t = t, .f = h, .kind = cpu::ActivationKind::geglu};
    cpu::activation_fwd(d, x.data(), y.data());
    cpu::activation_bwd(d, y.data(), x.data(), y.data());
    cpu::rope<T>({.t = t, .a = 100, .k = 50, .d = 100}, {.micro = 2}, cpu::Rotation::forward,
                 y.data());
    cpu::dropout_fwd<T, std::uint8_t>({.probability = 0.5}, cpu::HiddenElements{},
                                      {t, h, x.data(), y.data(), mask.data()});
    cpu::dropout_add<T, std::uint8_t>(
        {.probability = 0.5}, {}, {t, h, x.data(), x.data(), row.data(), y.data(), mask.data()});
  });
  expect_no_large_block("loss and optimizer", [&] {
    const cpu::LossDims d{.t = t, .v = h, .vocab = h};
    cpu::ce_max(d, x.data(), per_row);
    cpu::ce_partial<T, std::int64_t>(
        d, {x.data(), labels.data(), per_row, y.data(), row.data(), per_row + t});
    cpu::ce_bwd(d, y.data(), per_row + t, labels.data(), y.data());
    cpu::sum_squares(n, x.data(), row.data());
    cpu::adamw<T>({}, 0, {n, x.data(), T{1}, y.data(), y.data() + n, v.data(), v.data() + n});
  });
}

}  // namespace
}  // namespace windtunnel
