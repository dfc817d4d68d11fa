// The CPU's cross entropy against the double reference.

#include "kernels/cpu/loss.h"

#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::draw;
using reference::expect_rounded;
using reference::LossDims;
using reference::Values;
using reference::widened;

template <class T>
class CpuLoss : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuLoss, RealTypes);

/// One row and column; a rank in the middle; padding at the end of one block, and over two of four
/// blocks; a rank with padding only; more columns than are added up at once.
constexpr LossDims kSizes[] = {
    {.t = 1, .v = 1, .vocab = 1, .divisor = 1},
    {.t = 5, .v = 33, .first_column = 33, .vocab = 99, .divisor = 7},
    {.t = 3, .v = 40, .first_column = 0, .vocab = 37, .divisor = 3},
    {.t = 4, .v = 10, .blocks = 4, .first_column = 0, .vocab = 25, .divisor = 4},
    {.t = 2, .v = 8, .first_column = 64, .vocab = 60, .divisor = 2},
    {.t = 2, .v = 5000, .first_column = 0, .vocab = 4999, .divisor = 2}};

template <class T>
struct Loss {
  Values<T> maxima, probs, target, sum, dlogits;
};

/// Labels of every rank: some are here, some not.
Values<std::int64_t> labels_of(const LossDims& d) {
  Values<std::int64_t> labels;
  for (std::int64_t r = 0; r < d.t; ++r) labels.push_back((r * 31 + d.vocab - 1) % d.vocab);
  return labels;
}

template <class T>
Loss<T> sized(const LossDims& d) {
  const auto t = static_cast<std::size_t>(d.t), n = static_cast<std::size_t>(d.t * d.columns());
  return {Values<T>(t), Values<T>(n), Values<T>(t), Values<T>(t), Values<T>(n)};
}

template <class T>
reference::LossPartial<T, std::int64_t> partial(const Values<T>& logits, const T* maxima,
                                                const Values<std::int64_t>& labels, Loss<T>& out) {
  return {.logits = logits.data(),
          .labels = labels.data(),
          .maxima = maxima,
          .probs = out.probs.data(),
          .target = out.target.data(),
          .sum = out.sum.data()};
}

TYPED_TEST(CpuLoss, AllParts) {
  using T = TypeParam;
  for (const LossDims& d : kSizes) {
    SCOPED_TRACE("v " + std::to_string(d.v));
    const Values<T> logits = draw<T>(d.t * d.columns(), 1);
    const Values<double> wide = widened(logits);
    const auto labels = labels_of(d);
    auto expected = sized<double>(d);
    auto got = sized<T>(d);
    reference::ce_max(d, wide.data(), expected.maxima.data());
    cpu::ce_max(d, logits.data(), got.maxima.data());
    if (d.first_column < d.vocab) {
      expect_rounded(expected.maxima, got.maxima, 1, "maxima");
    } else {  // each type's own lowest number
      EXPECT_EQ(got.maxima[0], std::numeric_limits<T>::lowest());
    }
    // Maxima of all ranks, above this one's.
    const Values<T> maxima(static_cast<std::size_t>(d.t), T{4});
    const Values<double> wide_maxima = widened(maxima);
    reference::ce_partial<double, std::int64_t>(
        d, partial(wide, wide_maxima.data(), labels, expected));
    got.probs = logits;  // in place
    cpu::ce_partial<T, std::int64_t>(d, partial(got.probs, maxima.data(), labels, got));
    expect_rounded(expected.probs, got.probs, 1, "probs");
    expect_rounded(expected.target, got.target, 1, "target");
    expect_rounded(expected.sum, got.sum, d.v, "sum");
    // Sums of all ranks: never 0, even where this rank has padding only.
    Values<T> sums = got.sum;
    for (T& s : sums) s += 1;
    expected.probs = widened(got.probs);
    reference::ce_bwd(d, expected.probs.data(), widened(sums).data(), labels.data(),
                      expected.dlogits.data());
    got.dlogits = got.probs;  // in place
    cpu::ce_bwd(d, got.dlogits.data(), sums.data(), labels.data(), got.dlogits.data());
    expect_rounded(expected.dlogits, got.dlogits, 2, "dlogits");
    Values<double> loss(1);
    Values<T> got_loss(1);
    reference::ce_loss(d, widened(got.target).data(), widened(sums).data(), loss.data());
    cpu::ce_loss(d, got.target.data(), sums.data(), got_loss.data());
    expect_rounded(loss, got_loss, 1, "loss");
  }
}

TYPED_TEST(CpuLoss, LabelsMayBeNumbers) {
  using T = TypeParam;
  constexpr LossDims d{.t = 3, .v = 9, .vocab = 9, .divisor = 3};
  const auto labels = labels_of(d);
  const Values<T> logits = draw<T>(27, 2), maxima(3, T{3}), numbers(labels.begin(), labels.end());
  auto a = sized<T>(d), b = sized<T>(d);
  cpu::ce_partial<T, std::int64_t>(d, partial(logits, maxima.data(), labels, a));
  cpu::ce_partial<T>(d, {logits.data(), numbers.data(), maxima.data(), b.probs.data(),
                         b.target.data(), b.sum.data()});
  cpu::ce_bwd(d, a.probs.data(), a.sum.data(), labels.data(), a.dlogits.data());
  cpu::ce_bwd(d, b.probs.data(), b.sum.data(), numbers.data(), b.dlogits.data());
  EXPECT_EQ(a.target, b.target);
  expect_rounded(widened(a.dlogits), b.dlogits, 2, "dlogits");
}

}  // namespace
}  // namespace windtunnel
