// The CPU's activations against the double reference.

#include "kernels/cpu/activation.h"

#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::ActivationDims;
using reference::ActivationKind;
using reference::draw;
using reference::expect_rounded;
using reference::Values;
using reference::widened;

template <class T>
class CpuActivation : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuActivation, RealTypes);

/// An exponential of a few units in the last place and some products: fewer than 4 terms. In double
/// the reference's own gelu' loses more, as 1 - tanh^2 is multiplied with up to 0.4 x (1 + 0.13
/// x^2), 9 at the x = 5 where it vanishes: that of (8 * 4)^2 terms.
template <class T>
constexpr std::int64_t kTerms = std::is_same_v<T, double> ? 1000 : 4;

/// Numbers whose exponentials over- and underflow.
template <class T>
Values<T> tails(std::int64_t n, std::uint64_t seed) {
  Values<T> x = draw<T>(n, seed);
  for (T& v : x) v *= 100;
  x[0] = 0;
  return x;
}

template <class T>
void expect_activation(const ActivationDims& d, Values<T> (*inputs)(std::int64_t, std::uint64_t)) {
  const std::int64_t y = d.t * d.f, width = reference::is_gated(d.kind) ? 2 * y : y;
  const Values<T> x = inputs(width, 1), dy = draw<T>(y, 2);
  const Values<double> wide_x = widened(x), wide_dy = widened(dy);
  Values<double> expected(wide_dy.size()), expected_dx(wide_x.size());
  reference::activation_fwd(d, wide_x.data(), expected.data());
  reference::activation_bwd(d, wide_dy.data(), wide_x.data(), expected_dx.data());
  Values<T> got(dy.size()), dx(x.size()), in_place = x;
  cpu::activation_fwd(d, x.data(), got.data());
  cpu::activation_bwd(d, dy.data(), x.data(), dx.data());
  cpu::activation_bwd(d, dy.data(), in_place.data(), in_place.data());
  expect_rounded(expected, got, kTerms<T>, "y");
  expect_rounded(expected_dx, dx, kTerms<T>, "dx");
  expect_rounded(expected_dx, in_place, kTerms<T>, "dx in place of x");
}

TYPED_TEST(CpuActivation, ForwardAndBackward) {
  using T = TypeParam;
  for (const auto kind : {ActivationKind::gelu, ActivationKind::swiglu, ActivationKind::geglu,
                          ActivationKind::relu2}) {
    for (const std::int64_t f : {1, 37, 256, 600}) {
      const ActivationDims d{.t = 3, .f = f, .kind = kind};
      expect_activation<T>(d, [](std::int64_t n, std::uint64_t seed) { return draw<T>(n, seed); });
      expect_activation<T>(d, tails<T>);
    }
  }
}

}  // namespace
}  // namespace windtunnel
