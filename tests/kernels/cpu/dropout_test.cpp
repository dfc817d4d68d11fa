// The CPU's dropout draws the reference's mask, bit by bit, and computes the same.

#include "kernels/cpu/dropout.h"

#include "kernels/cpu/row_draws.h"
#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::AttentionElements;
using reference::draw;
using reference::DropoutKey;
using reference::HiddenElements;
using reference::Values;

template <class Pair>
class CpuDropout : public testing::Test {};
template <class Number, class MaskElement>
struct Elements {
  using T = Number;
  using Mask = MaskElement;
};
using Pairs = testing::Types<Elements<float, float>, Elements<float, std::uint8_t>,
                             Elements<double, double>, Elements<double, std::uint8_t>>;
TYPED_TEST_SUITE(CpuDropout, Pairs);

constexpr DropoutKey kKey{.seed = 11, .step = 3, .layer = 2, .site = 1, .probability = 0.3};
constexpr HiddenElements kHidden{.rows = {.micro = 2, .first_row = 4, .first_sample = 6}};

TEST(CpuRowDraws, EveryProbabilityKeepsWhatTheReferenceKeeps) {
  // Exact in double, not exact, none and nearly all.
  for (const double p : {0.0, 0.1, 0.5, 0.99, 0x1.0p-53, 1.0 / 3.0}) {
    DropoutKey key = kKey;
    key.probability = p;
    const cpu::RowDraws draws(key, {.sample = 5, .row = 17});
    for (std::int64_t c = 0; c < 1000; ++c) {
      EXPECT_EQ(draws.kept(c), reference::keeps(key, {.sample = 5, .row = 17}, c)) << p;
    }
  }
}

template <class T, class Mask>
struct Dropped {
  Values<T> y;
  Values<Mask> mask;
  bool operator==(const Dropped&) const = default;
};

TYPED_TEST(CpuDropout, Forward) {
  using T = typename TypeParam::T;
  using Mask = typename TypeParam::Mask;
  constexpr AttentionElements attention{.s = 5, .a = 2, .first_sample = 3, .first_head = 2};
  for (const std::int64_t columns : {1, 5, 67}) {
    const std::int64_t rows = 10, n = rows * columns;
    const Values<T> x = draw<T>(n, 1);
    const auto run = [&](auto dropout, const auto& elements) {
      Dropped<T, Mask> out{x, Values<Mask>(x.size())};  // y in place of x
      dropout(kKey, elements,
              reference::DropoutForward<T, Mask>{rows, columns, out.y.data(), out.y.data(),
                                                 out.mask.data()});
      return out;
    };
    const auto expected = [](const auto&... o) { reference::dropout_fwd<T, Mask>(o...); };
    const auto got = [](const auto&... o) { cpu::dropout_fwd<T, Mask>(o...); };
    EXPECT_EQ(run(expected, kHidden), run(got, kHidden));
    EXPECT_EQ(run(expected, attention), run(got, attention));
  }
}

TYPED_TEST(CpuDropout, Add) {
  using T = typename TypeParam::T;
  using Mask = typename TypeParam::Mask;
  for (const std::int64_t h : {1, 33, 100}) {
    const std::int64_t t = 4;
    const Values<T> x = draw<T>(t * h, 1), residual = draw<T>(t * h, 2), bias = draw<T>(h, 3);
    for (const T* b : {static_cast<const T*>(nullptr), bias.data()}) {
      Dropped<T, Mask> wanted{x, Values<Mask>(x.size())}, got{x, Values<Mask>(x.size())};
      reference::dropout_add<T, Mask>(
          kKey, kHidden, {t, h, x.data(), residual.data(), b, wanted.y.data(), wanted.mask.data()});
      cpu::dropout_add<T, Mask>(
          kKey, kHidden, {t, h, got.y.data(), residual.data(), b, got.y.data(), got.mask.data()});
      EXPECT_EQ(wanted.mask, got.mask);
      // Two roundings, or one where the machine multiplies and adds at once.
      reference::expect_rounded(reference::widened(wanted.y), got.y, 2, "y");
    }
  }
}

}  // namespace
}  // namespace windtunnel
