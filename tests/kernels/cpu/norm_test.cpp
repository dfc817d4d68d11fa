// The CPU's norms against the double reference.

#include "kernels/cpu/norm.h"

#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::draw;
using reference::expect_rounded;
using reference::NormDims;
using reference::Values;
using reference::widened;

template <class T>
class CpuNorm : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuNorm, RealTypes);

constexpr NormDims kSizes[] = {
    {.t = 1, .h = 1}, {.t = 3, .h = 7}, {.t = 65, .h = 129}, {.t = 2, .h = 4096}};

/// What both norms compute, with the tensors of one in one list each.
template <class T>
struct Norm {
  Values<T> y, stats, dx, dgamma, dbeta;
};

/// x is far from 0 on average, so that a variance from squares would lose half its digits.
template <class T>
struct Inputs {
  Values<T> x, dy, gamma, beta;
};

template <class T>
Inputs<T> inputs(const NormDims& d) {
  Inputs<T> in{.x = draw<T>(d.t * d.h, 1),
               .dy = draw<T>(d.t * d.h, 2),
               .gamma = draw<T>(d.h, 3),
               .beta = draw<T>(d.h, 4)};
  for (T& x : in.x) x += 10;
  return in;
}

enum class Place : std::uint8_t { apart, dx_is_dy };

template <class T, class Forward, class Backward>
Norm<T> run(const NormDims& d, const Inputs<T>& in, Place place, Forward forward,
            Backward backward) {
  const auto n = static_cast<std::size_t>(d.t * d.h), h = static_cast<std::size_t>(d.h);
  Norm<T> out{.y = Values<T>(n),
              .stats = Values<T>(static_cast<std::size_t>(2 * d.t)),
              .dx = place == Place::apart ? Values<T>(n) : in.dy,
              .dgamma = Values<T>(h, T{1}),
              .dbeta = Values<T>(h, T{1})};
  forward(d, reference::NormForward<T>{in.x.data(), in.gamma.data(), in.beta.data(), out.y.data(),
                                       out.stats.data()});
  const T* dy = place == Place::apart ? in.dy.data() : out.dx.data();
  backward(d, reference::NormBackward<T>{dy, in.x.data(), in.gamma.data(), out.stats.data(),
                                         out.dx.data(), out.dgamma.data(), out.dbeta.data()});
  if (place == Place::apart) {  // of frozen parameters: dx alone
    Values<T> alone(n);
    backward(d, reference::NormBackward<T>{dy, in.x.data(), in.gamma.data(), out.stats.data(),
                                           alone.data(), nullptr, nullptr});
    EXPECT_EQ(alone, out.dx);
  }
  return out;
}

/// A float x of 10 has a rounding error 10 times that of its deviation, which counts as 100 terms.
std::int64_t terms(std::int64_t n) {
  return 100 + n;
}

template <class T, class Reference, class Cpu>
void expect_norm(Reference reference, Cpu cpu) {
  for (const NormDims& d : kSizes) {
    const Inputs<T> in = inputs<T>(d);
    const Inputs<double> wide{widened(in.x), widened(in.dy), widened(in.gamma), widened(in.beta)};
    const Norm<double> expected = reference(d, wide);
    for (const auto place : {Place::apart, Place::dx_is_dy}) {
      const Norm<T> got = cpu(d, in, place);
      expect_rounded(expected.y, got.y, terms(d.h), "y");
      expect_rounded(expected.stats, got.stats, terms(d.h), "stats");
      expect_rounded(expected.dx, got.dx, terms(d.h), "dx");
      expect_rounded(expected.dgamma, got.dgamma, terms(d.t + d.h), "dgamma");
      expect_rounded(expected.dbeta, got.dbeta, terms(d.t), "dbeta");
    }
  }
}

TYPED_TEST(CpuNorm, LayerNorm) {
  using T = TypeParam;
  expect_norm<T>(
      [](const NormDims& d, const Inputs<double>& in) {
        return run<double>(d, in, Place::apart, reference::layernorm_fwd<double>,
                           reference::layernorm_bwd<double>);
      },
      [](const NormDims& d, const Inputs<T>& in, Place place) {
        return run<T>(d, in, place, cpu::layernorm_fwd<T>, cpu::layernorm_bwd<T>);
      });
}

TYPED_TEST(CpuNorm, RmsNorm) {
  using T = TypeParam;
  expect_norm<T>(
      [](const NormDims& d, const Inputs<double>& in) {
        return run<double>(d, in, Place::apart, reference::rmsnorm_fwd<double>,
                           reference::rmsnorm_bwd<double>);
      },
      [](const NormDims& d, const Inputs<T>& in, Place place) {
        return run<T>(d, in, place, cpu::rmsnorm_fwd<T>, cpu::rmsnorm_bwd<T>);
      });
}

}  // namespace
}  // namespace windtunnel
