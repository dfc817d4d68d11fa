// The reference in float is the reference in double, rounded; masks and tokens may be integers.

#include "kernels/reference/dropout.h"
#include "kernels/reference/elementwise.h"
#include "kernels/reference/embedding.h"
#include "kernels/reference/flash.h"
#include "kernels/reference/gemm.h"
#include "kernels/reference/loss.h"
#include "kernels/reference/norm.h"
#include "kernels/reference/optimizer.h"
#include "kernels/reference/rope.h"
#include "tests/kernels/against_double.h"

namespace windtunnel::reference {
namespace {

/// The float reference rounds an element once or twice, whatever it is summed from.
constexpr std::int64_t kRoundedOnce = 1;

/// `run(inputs)` in float and, on the same numbers, in double.
template <class Run>
void expect_same(const Values<float>& x, std::int64_t terms, const char* what, Run run) {
  expect_rounded(run(widened(x)), run(x), terms, what);
}

template <class List>
using ElementOf = typename std::decay_t<List>::value_type;

TEST(FloatReference, LongDotsAreSummedInDouble) {
  const GemmDims d{.m = 2, .n = 3, .k = 5000};
  expect_same(draw<float>((d.m + d.n) * d.k, 1), kRoundedOnce, "gemm", [&](const auto& x) {
    Values<ElementOf<decltype(x)>> c(6);
    gemm_fwd(d, x.data(), x.data() + d.m * d.k, {}, c.data());
    return c;
  });
}

TEST(FloatReference, Norms) {
  const NormDims d{.t = 3, .h = 700};
  const std::int64_t n = d.t * d.h;
  const auto run = [&](auto forward, auto backward, std::int64_t stats) {
    return [=](const auto& x) {
      using T = ElementOf<decltype(x)>;
      Values<T> all(static_cast<std::size_t>(2 * n + stats + 2 * d.h));
      T* y = all.data();
      T* rest = y + 2 * n;
      const T* gamma = x.data() + n;
      forward(d, NormForward<T>{x.data(), gamma, gamma + d.h, y, rest});
      backward(d,
               NormBackward<T>{y, x.data(), gamma, rest, y + n, rest + stats, rest + stats + d.h});
      return all;
    };
  };
  const Values<float> x = draw<float>(n + 2 * d.h, 2);
  expect_same(x, d.t, "layernorm",
              run([](const auto&... o) { layernorm_fwd(o...); },
                  [](const auto&... o) { layernorm_bwd(o...); }, 2 * d.t));
  expect_same(x, d.t, "rmsnorm",
              run([](const auto&... o) { rmsnorm_fwd(o...); },
                  [](const auto&... o) { rmsnorm_bwd(o...); }, d.t));
}

TEST(FloatReference, FlashAttention) {
  const AttentionDims d{.micro = 1, .s = 40, .a = 4, .k = 2, .d = 8};
  const std::int64_t n = d.s * d.width(), out = d.s * d.a * d.d;
  const FlashOptions options{
      .mask = {.causal = true, .bias = Bias::alibi, .first_head = 0, .heads = 4},
      .dropout =
          FlashDropout{.key = {.seed = 5, .probability = 0.25}, .elements = {.s = d.s, .a = d.a}}};
  // Gradients of keys and values take one addition a query and head.
  expect_same(draw<float>(n + out, 3), d.s * d.a / d.k, "flash", [&](const auto& x) {
    using T = ElementOf<decltype(x)>;
    Values<T> all(static_cast<std::size_t>(n + out + d.s * d.a));
    T* o = all.data() + n;
    T* lse = o + out;
    flash_fwd(d, options, x.data(), o, lse);
    flash_bwd<T>(d, options,
                 {.dout = x.data() + n, .qkv = x.data(), .out = o, .lse = lse, .dqkv = all.data()});
    return all;
  });
}

TEST(FloatReference, Activations) {
  for (const auto kind : {ActivationKind::gelu, ActivationKind::swiglu, ActivationKind::geglu,
                          ActivationKind::relu2}) {
    const ActivationDims d{.t = 4, .f = 50, .kind = kind};
    expect_same(draw<float>(600, 4), kRoundedOnce, "activation", [&](const auto& x) {
      Values<ElementOf<decltype(x)>> all(600);
      activation_fwd(d, x.data(), all.data());
      activation_bwd(d, x.data() + 400, x.data(), all.data() + 200);
      return all;
    });
  }
}

TEST(FloatReference, RopeOfFarPositions) {
  const RopeDims d{.t = 2, .a = 1, .k = 1, .d = 16};
  expect_same(draw<float>(2 * 48, 5), kRoundedOnce, "rope", [&](auto x) {
    rope(d, {.micro = 1, .first_row = 100000}, Rotation::forward, x.data());
    return x;
  });
}

TEST(FloatReference, Adamw) {
  expect_same(draw<float>(200, 6), kRoundedOnce, "adamw", [](auto x) {
    using T = ElementOf<decltype(x)>;
    for (std::size_t i = 150; i < 200; ++i) x[i] = std::abs(x[i]);  // v
    T* p = x.data();
    adamw<T>({}, 3,
             {.n = 50,
              .g = p,
              .coefficient = T{1} / 2,
              .master = p + 50,
              .m = p + 100,
              .v = p + 150,
              .w = p + 50});
    return x;
  });
}

TEST(IntegerElements, LossAndEmbeddingTakeInt64Tokens) {
  using T = float;
  constexpr std::int64_t kT = 6, kV = 10;
  const RowPlacement rows{.micro = 2, .first_row = 0, .first_sample = 1};
  Values<T> numbers(kT), y[2] = {Values<T>(kT * 2), Values<T>(kT * 2)};
  Values<std::int64_t> tokens(kT);
  load_tokens({.seed = 4, .vocab = kV}, rows, kT, numbers.data());
  load_tokens({.seed = 4, .vocab = kV}, rows, kT, tokens.data());
  const EmbeddingDims e{.t = kT, .h = 2, .v = kV};
  const Values<T> table = draw<T>(kV * 2, 7), logits = draw<T>(kT * kV, 8), maxima(kT, 4.0F);
  embedding_fwd(e, numbers.data(), table.data(), y[0].data());
  embedding_fwd(e, tokens.data(), table.data(), y[1].data());
  EXPECT_EQ(y[0], y[1]);
  const LossDims d{.t = kT, .v = kV, .vocab = kV};
  Values<T> probs(kT * kV), target(kT), sum(kT), expected(kT * kV), got(kT * kV);
  ce_partial<T>(d, {.logits = logits.data(),
                    .labels = numbers.data(),
                    .maxima = maxima.data(),
                    .probs = probs.data(),
                    .target = target.data(),
                    .sum = sum.data()});
  ce_bwd(d, probs.data(), sum.data(), numbers.data(), expected.data());
  const Values<T> expected_target = target;
  ce_partial<T, std::int64_t>(d, {.logits = logits.data(),
                                  .labels = tokens.data(),
                                  .maxima = maxima.data(),
                                  .probs = probs.data(),
                                  .target = target.data(),
                                  .sum = sum.data()});
  ce_bwd(d, probs.data(), sum.data(), tokens.data(), got.data());
  EXPECT_EQ(expected_target, target);
  EXPECT_EQ(expected, got);
}

TEST(IntegerElements, DropoutTakesByteMasks) {
  using T = double;
  const DropoutKey key{.seed = 3, .probability = 0.4};
  const HiddenElements elements{.rows = {.micro = 2}};
  const Values<T> x = draw<T>(60, 9);
  Values<T> y(60), mask(60), dx(60), byte_dx(60);
  Values<std::uint8_t> bytes(60);
  dropout_fwd<T>(key, elements, {6, 10, x.data(), y.data(), mask.data()});
  dropout_fwd<T, std::uint8_t>(key, elements, {6, 10, x.data(), y.data(), bytes.data()});
  EXPECT_EQ(mask, widened(bytes));
  dropout_bwd(key, 60, x.data(), mask.data(), dx.data());
  dropout_bwd(key, 60, x.data(), bytes.data(), byte_dx.data());
  EXPECT_EQ(dx, byte_dx);
}

}  // namespace
}  // namespace windtunnel::reference
