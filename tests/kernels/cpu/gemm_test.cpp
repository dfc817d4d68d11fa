// The CPU's matrix products against the double reference.

#include "kernels/cpu/gemm.h"

#include <pthread.h>

#include "kernels/cpu/product.h"
#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::draw;
using reference::expect_rounded;
using reference::GemmDims;
using reference::Update;
using reference::Values;
using reference::widened;

template <class T>
class CpuGemm : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuGemm, RealTypes);

/// One row, one column, one term, odd sizes, and more than one panel in each direction.
constexpr GemmDims kSizes[] = {
    {.m = 1, .n = 1, .k = 1},    {.m = 1, .n = 37, .k = 19},   {.m = 23, .n = 1, .k = 41},
    {.m = 7, .n = 13, .k = 1},   {.m = 3, .n = 5, .k = 2},     {.m = 65, .n = 127, .k = 33},
    {.m = 5, .n = 1030, .k = 9}, {.m = 1029, .n = 3, .k = 11}, {.m = 9, .n = 17, .k = 1100}};

TYPED_TEST(CpuGemm, Forward) {
  using T = TypeParam;
  for (const GemmDims& d : kSizes) {
    const auto a = draw<T>(d.m * d.k, 1), w = draw<T>(d.n * d.k, 2), bias = draw<T>(d.n, 3);
    for (const T* b : {static_cast<const T*>(nullptr), bias.data()}) {
      Values<double> expected(static_cast<std::size_t>(d.m * d.n));
      Values<T> c(expected.size(), std::numeric_limits<T>::quiet_NaN());
      reference::gemm_fwd(d, widened(a).data(), widened(w).data(),
                          b ? widened(bias).data() : nullptr, expected.data());
      cpu::gemm_fwd(d, a.data(), w.data(), b, c.data());
      expect_rounded(expected, c, d.k, "C");
    }
  }
}

TYPED_TEST(CpuGemm, InputGradient) {
  using T = TypeParam;
  for (GemmDims d : kSizes) {
    for (const bool part_of_a_row : {false, true}) {
      if (part_of_a_row) {
        d.offset = 3;
        d.row = d.n + 5;
      }
      const auto dc = draw<T>(d.m * (part_of_a_row ? d.row : d.n), 1), w = draw<T>(d.n * d.k, 2);
      Values<double> expected(static_cast<std::size_t>(d.m * d.k));
      Values<T> da(expected.size(), std::numeric_limits<T>::quiet_NaN());
      reference::gemm_dgrad(d, widened(dc).data(), widened(w).data(), expected.data());
      cpu::gemm_dgrad(d, dc.data(), w.data(), da.data());
      expect_rounded(expected, da, d.n, "dA");
    }
  }
}

TYPED_TEST(CpuGemm, WeightAndBiasGradients) {
  using T = TypeParam;
  for (const GemmDims& d : kSizes) {
    const auto dc = draw<T>(d.m * d.n, 1), a = draw<T>(d.m * d.k, 2);
    for (const auto update : {Update::overwrite, Update::accumulate}) {
      Values<T> dw = draw<T>(d.n * d.k, 3), db = draw<T>(d.n, 4);
      Values<double> expected = widened(dw), expected_db = widened(db);
      reference::gemm_wgrad(d, update, widened(dc).data(), widened(a).data(), expected.data());
      reference::bias_bwd(d, widened(dc).data(), expected_db.data());
      cpu::gemm_wgrad(d, update, dc.data(), a.data(), dw.data());
      cpu::bias_bwd(d, dc.data(), db.data());
      expect_rounded(expected, dw, d.m, "dW");
      expect_rounded(expected_db, db, d.m, "dbias");
    }
  }
}

/// Rows of nothing: a micro-batch may leave a rank without any.
TYPED_TEST(CpuGemm, OfNothing) {
  using T = TypeParam;
  Values<T> w = draw<T>(12, 1), dw(12, T{7});
  cpu::gemm_fwd<T>({.m = 0, .n = 3, .k = 4}, nullptr, w.data(), nullptr, nullptr);
  cpu::gemm_wgrad<T>({.m = 0, .n = 3, .k = 4}, Update::accumulate, nullptr, nullptr, dw.data());
  EXPECT_EQ(dw, Values<T>(12, T{7}));
  cpu::gemm_wgrad<T>({.m = 0, .n = 3, .k = 4}, Update::overwrite, nullptr, nullptr, dw.data());
  EXPECT_EQ(dw, Values<T>(12));
}

/// Full panels in every direction.
void* multiply_large(void*) {
  constexpr GemmDims d{.m = 1100, .n = 1100, .k = 600};
  const Values<double> a(static_cast<std::size_t>(d.m * d.k), 2.0),
      w(static_cast<std::size_t>(d.n * d.k), 0.5);
  Values<double> c(static_cast<std::size_t>(d.m * d.n));
  cpu::gemm_fwd<double>(d, a.data(), w.data(), nullptr, c.data());
  for (const double x : c) EXPECT_DOUBLE_EQ(x, static_cast<double>(d.k));
  return nullptr;
}

TEST(CpuGemmStack, WorkerStackHoldsTheLargestPanels) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, cpu::kWorkerStackBytes), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, multiply_large, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace windtunnel
