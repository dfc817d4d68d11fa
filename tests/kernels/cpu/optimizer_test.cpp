// The CPU's norm and optimizers against the double reference, and the kernels taken over from the
// reference where they are used as a device does.

#include "kernels/cpu/optimizer.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/embedding.h"
#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::AdamwOperands;
using reference::draw;
using reference::expect_rounded;
using reference::Values;
using reference::widened;

template <class T>
class CpuOptimizer : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuOptimizer, RealTypes);

constexpr std::int64_t kCounts[] = {1, 7, 130, 4097, 20000};

TYPED_TEST(CpuOptimizer, SumSquares) {
  using T = TypeParam;
  for (const std::int64_t n : kCounts) {
    const Values<T> g = draw<T>(n, 1);
    Values<double> expected{5.0};
    Values<T> got{T{5}};
    reference::sum_squares(n, widened(g).data(), expected.data());
    cpu::sum_squares(n, g.data(), got.data());
    expect_rounded(expected, got, n, "norm2");
  }
}

template <class T>
struct States {
  Values<T> master, m, v, w;
};

template <class T>
AdamwOperands<T> operands(const Values<T>& g, States<T>& s) {
  return {.n = static_cast<std::int64_t>(g.size()),
          .g = g.data(),
          .coefficient = T{1} / 4,
          .master = s.master.data(),
          .m = s.m.data(),
          .v = s.v.data(),
          .w = s.w.empty() ? s.master.data() : s.w.data()};
}

TYPED_TEST(CpuOptimizer, Adamw) {
  using T = TypeParam;
  for (const std::int64_t n : kCounts) {
    for (const bool w_is_master : {false, true}) {
      const Values<T> g = draw<T>(n, 1);
      States<T> got{draw<T>(n, 2), draw<T>(n, 3), draw<T>(n, 4), {}};
      for (T& v : got.v) v = std::abs(v);
      if (!w_is_master) got.w.resize(g.size());
      States<double> expected{widened(got.master), widened(got.m), widened(got.v), widened(got.w)};
      const auto wide_g = widened(g);
      // The learning rate is large, so that an update counts as much as the weight it changes.
      const reference::OptimizerConstants k{.learning_rate = 1.0};
      reference::adamw(k, 5, operands(wide_g, expected));
      cpu::adamw(k, 5, operands(g, got));
      expect_rounded(expected.m, got.m, 2, "m");
      expect_rounded(expected.v, got.v, 2, "v");
      expect_rounded(expected.master, got.master, 4, "master");
      expect_rounded(expected.w, got.w, 4, "w");
    }
  }
}

/// The loops taken over are instantiated by whoever calls them: bytes and int64 compile and work.
TYPED_TEST(CpuOptimizer, LoopsOfTheReference) {
  using T = TypeParam;
  Values<std::int64_t> tokens(6);
  cpu::load_tokens({.seed = 1, .vocab = 5}, {.micro = 2}, 6, tokens.data());
  const Values<T> table = draw<T>(10, 1);
  Values<T> y(12), dtable(10), z(12);
  cpu::embedding_fwd<T>({.t = 6, .h = 2, .v = 5}, tokens.data(), table.data(), y.data());
  EXPECT_EQ(y[0], table[static_cast<std::size_t>(2 * tokens[0])]);
  cpu::embedding_bwd<T>({.t = 6, .h = 2, .v = 5}, tokens.data(), y.data(), dtable.data());
  cpu::add(12, y.data(), y.data(), z.data());
  cpu::scale(12, {.by = 1, .over = 2}, z.data(), z.data());
  EXPECT_EQ(y, z);
  cpu::residual_add<T>(
      {.t = 6, .h = 2, .x = y.data(), .residual = y.data(), .bias = nullptr, .y = z.data()});
  EXPECT_EQ(z[3], y[3] + y[3]);
}

}  // namespace
}  // namespace windtunnel
