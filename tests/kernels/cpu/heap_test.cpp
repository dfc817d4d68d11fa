// No CPU kernel takes a large block of heap memory: a step's memory is the program's own.
//
// Every allocation made by the objects of this binary goes through the functions below (the
// linker's
// --wrap, and operator new); what was the largest since the last reset is kept.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/flash.h"
#include "kernels/cpu/gemm.h"
#include "tests/kernels/gradient_check.h"

namespace {

std::atomic<std::size_t> largest_block{0};

void note(std::size_t bytes) {
  if (bytes > largest_block) largest_block = bytes;
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);

void* __wrap_malloc(std::size_t bytes) {
  note(bytes);
  return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t n, std::size_t bytes) {
  note(n * bytes);
  return __real_calloc(n, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  if (void* block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}

namespace windtunnel {
namespace {

/// What a step may take at once beside the program's allocations.
constexpr std::size_t kLargeBlock = std::size_t{64} << 10;

template <class Run>
void expect_no_large_block(const char* what, Run run) {
  largest_block = 0;
  run();
  EXPECT_LT(largest_block, kLargeBlock) << what;
}

template <class T>
class CpuHeap : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuHeap, RealTypes);

TEST(CpuHeapCount, SeesVectorsAndMalloc) {
  largest_block = 0;
  const std::vector<char> block(kLargeBlock);
  EXPECT_EQ(largest_block, kLargeBlock);
  void* volatile kept = std::malloc(kLargeBlock + block.size());
  std::free(kept);
  EXPECT_EQ(largest_block, 2 * kLargeBlock);
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

}  // namespace
}  // namespace windtunnel
