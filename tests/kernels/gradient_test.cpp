// Every backward kernel is the derivative of its forward, in double and in the field.

#include "kernels/reference/attention.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/elementwise.h"
#include "kernels/reference/embedding.h"
#include "kernels/reference/flash.h"
#include "kernels/reference/gemm.h"
#include "kernels/reference/latent.h"
#include "kernels/reference/loss.h"
#include "kernels/reference/norm.h"
#include "kernels/reference/rope.h"
#include "tests/kernels/gradient_check.h"

namespace windtunnel::reference {
namespace {

template <class T>
class KernelGradient : public testing::Test {};
using NumberTypes = testing::Types<double, Field>;
TYPED_TEST_SUITE(KernelGradient, NumberTypes);

/// Part [from, from + n) of a list.
template <class T>
Values<T> part(const Values<T>& all, std::int64_t from, std::int64_t n) {
  return {all.begin() + from, all.begin() + from + n};
}

template <class T>
Values<T> join(std::initializer_list<Values<T>> parts) {
  Values<T> all;
  for (const auto& p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}

TYPED_TEST(KernelGradient, Gemm) {
  using T = TypeParam;
  constexpr GemmDims d{.m = 3, .n = 4, .k = 2};
  const Values<T> x = draw<T>(d.m * d.k + d.n * d.k + d.n, 1);  // A, W, bias
  const auto a = part(x, 0, 6), w = part(x, 6, 8);
  check_gradient<T>({.name = "gemm",
                     .forward =
                         [&](const Values<T>& v) {
                           Values<T> c(12);
                           gemm_fwd(d, v.data(), v.data() + 6, v.data() + 14, c.data());
                           return c;
                         },
                     .backward =
                         [&](const Values<T>& dc) {
                           Values<T> da(6), dw(8), db(4);
                           gemm_dgrad(d, dc.data(), w.data(), da.data());
                           gemm_wgrad(d, Update::overwrite, dc.data(), a.data(), dw.data());
                           bias_bwd(d, dc.data(), db.data());
                           return join({da, dw, db});
                         }},
                    x);
}

TYPED_TEST(KernelGradient, GemmAccumulates) {
  using T = TypeParam;
  constexpr GemmDims d{.m = 2, .n = 2, .k = 2};
  const auto dc = draw<T>(4, 1), a = draw<T>(4, 2), start = draw<T>(4, 3);
  Values<T> once(4), added = start;
  gemm_wgrad(d, Update::overwrite, dc.data(), a.data(), once.data());
  gemm_wgrad(d, Update::accumulate, dc.data(), a.data(), added.data());
  for (std::size_t i = 0; i < 4; ++i) expect_close(start[i] + once[i], added[i], "dW", i);
}

template <class T, class Forward, class Backward>
void check_norm(const char* name, Forward forward, Backward backward) {
  constexpr NormDims d{.t = 3, .h = 4};
  const Values<T> x = draw<T>(12 + 4 + 4, 2);  // x, gamma, beta
  check_gradient<T>(
      {.name = name,
       .forward =
           [&](const Values<T>& v) {
             Values<T> y(12), stats(6);
             forward(
                 d, NormForward<T>{v.data(), v.data() + 12, v.data() + 16, y.data(), stats.data()});
             return y;
           },
       .backward =
           [&](const Values<T>& dy) {
             Values<T> y(12), stats(6), dx(12), dgamma(4), dbeta(4);
             forward(
                 d, NormForward<T>{x.data(), x.data() + 12, x.data() + 16, y.data(), stats.data()});
             backward(d, NormBackward<T>{dy.data(), x.data(), x.data() + 12, stats.data(),
                                         dx.data(), dgamma.data(), dbeta.data()});
             return join({dx, dgamma, dbeta});
           }},
      x);
}

TYPED_TEST(KernelGradient, LayerNorm) {
  check_norm<TypeParam>("layernorm", layernorm_fwd<TypeParam>, layernorm_bwd<TypeParam>);
}

TYPED_TEST(KernelGradient, RmsNorm) {
  using T = TypeParam;
  check_norm<T>(
      "rmsnorm",
      [](const NormDims& d, NormForward<T> o) {
        o.beta = nullptr;
        rmsnorm_fwd(d, o);
      },
      [](const NormDims& d, NormBackward<T> o) {
        o.dbeta = nullptr;
        rmsnorm_bwd(d, o);
      });
}

TYPED_TEST(KernelGradient, Embedding) {
  using T = TypeParam;
  constexpr EmbeddingDims d{.t = 4, .h = 2, .v = 3, .first_row = 3};  // rows 3..5 of the table
  const Values<T> tokens{Number<T>::integer(3), Number<T>::integer(1), Number<T>::integer(5),
                         Number<T>::integer(3)};
  check_gradient<T>({.name = "embedding",
                     .forward =
                         [&](const Values<T>& table) {
                           Values<T> y(8);
                           embedding_fwd(d, tokens.data(), table.data(), y.data());
                           return y;
                         },
                     .backward =
                         [&](const Values<T>& dy) {
                           Values<T> dtable(6);
                           embedding_bwd(d, tokens.data(), dy.data(), dtable.data());
                           return dtable;
                         }},
                    draw<T>(6, 3));
}

TYPED_TEST(KernelGradient, Position) {
  using T = TypeParam;
  constexpr PositionDims d{.t = 4, .h = 2};
  constexpr RowPlacement rows{.micro = 2, .first_row = 2};  // positions 1, 1, 2, 2
  const Values<T> x = draw<T>(8, 4);
  check_gradient<T>({.name = "position",
                     .forward =
                         [&](const Values<T>& table) {
                           Values<T> y(8);
                           position_fwd(d, rows, x.data(), table.data(), y.data());
                           return y;
                         },
                     .backward =
                         [&](const Values<T>& dy) {
                           Values<T> dtable(6);
                           position_bwd(d, rows, dy.data(), dtable.data());
                           return dtable;
                         }},
                    draw<T>(6, 5));
}

TYPED_TEST(KernelGradient, Rope) {
  using T = TypeParam;
  constexpr RopeDims d{.t = 4, .a = 2, .k = 1, .d = 4};
  constexpr RowPlacement rows{.micro = 2, .first_row = 4};
  const auto turned = [&](Values<T> v, Rotation rotation) {
    rope(d, rows, rotation, v.data());
    return v;
  };
  check_gradient<T>(
      {.name = "rope",
       .forward = [&](const Values<T>& v) { return turned(v, Rotation::forward); },
       .backward = [&](const Values<T>& dy) { return turned(dy, Rotation::transposed); }},
      draw<T>(4 * 16, 6));
}

TYPED_TEST(KernelGradient, LatentHeads) {
  using T = TypeParam;
  const LatentDims d{.t = 4, .heads = 2, .nope = 3, .rope = 2, .value = 1};
  const RowPlacement rows{.micro = 2, .first_row = 4};
  const auto q = static_cast<std::size_t>(d.t * d.q_width());
  const auto kv = static_cast<std::size_t>(d.t * d.kv_width());
  const auto all = q + kv + static_cast<std::size_t>(d.t * d.rope);
  check_gradient<T>({.name = "latent heads",
                     .forward =
                         [&](const Values<T>& in) {
                           Values<T> out(static_cast<std::size_t>(d.t * d.width()));
                           latent_heads_fwd<T>(d, rows,
                                               {.q = in.data(),
                                                .kv = in.data() + q,
                                                .k_rope = in.data() + q + kv,
                                                .qkv = out.data()});
                           return out;
                         },
                     .backward =
                         [&](const Values<T>& dout) {
                           Values<T> din(all);
                           latent_heads_bwd<T>(d, rows,
                                               {.dqkv = dout.data(),
                                                .dq = din.data(),
                                                .dkv = din.data() + q,
                                                .dk_rope = din.data() + q + kv});
                           return din;
                         }},
                    draw<T>(static_cast<std::int64_t>(all), 9));
}

constexpr AttentionDims kAttention{.micro = 2, .s = 3, .a = 4, .k = 2, .d = 2};
constexpr AttentionMask kMask{.causal = true, .bias = Bias::alibi, .first_head = 1, .heads = 6};
constexpr std::int64_t kQkv = 6 * 16, kScores = 2 * 4 * 9, kOut = 6 * 8;

TYPED_TEST(KernelGradient, UnfusedAttention) {
  using T = TypeParam;
  const Values<T> qkv = draw<T>(kQkv, 7);
  const auto probabilities = [&](const Values<T>& v) {
    Values<T> p(kScores);
    scores_fwd(kAttention, v.data(), p.data());
    softmax_fwd(kAttention, kMask, p.data(), p.data());
    return p;
  };
  check_gradient<T>({.name = "attention",
                     .forward =
                         [&](const Values<T>& v) {
                           Values<T> out(kOut);
                           context_fwd(kAttention, probabilities(v).data(), v.data(), out.data());
                           return out;
                         },
                     .backward =
                         [&](const Values<T>& dout) {
                           const Values<T> p = probabilities(qkv);
                           Values<T> dp(kScores), dqkv(kQkv);
                           context_bwd<T>(kAttention, {.dout = dout.data(),
                                                       .probabilities = p.data(),
                                                       .qkv = qkv.data(),
                                                       .dprobabilities = dp.data(),
                                                       .dqkv = dqkv.data()});
                           softmax_bwd(kAttention, kMask, dp.data(), p.data(), dp.data());
                           scores_bwd(kAttention, dp.data(), qkv.data(), dqkv.data());
                           return dqkv;
                         }},
                    qkv);
}

template <class T>
void check_flash_gradient(const AttentionDims& d) {
  const std::int64_t t = d.micro * d.s;
  const auto n_out = static_cast<std::size_t>(t * d.a * d.value_width());
  const auto n_lse = static_cast<std::size_t>(t * d.a);
  const Values<T> qkv = draw<T>(t * d.width(), 8);
  const FlashOptions options{
      .mask = kMask,
      .dropout = FlashDropout{.key = {.seed = 5, .layer = 1, .probability = 0.25},
                              .elements = {.s = 3, .a = 4, .first_sample = 7, .first_head = 1}}};
  check_gradient<T>({.name = "flash",
                     .forward =
                         [&](const Values<T>& v) {
                           Values<T> out(n_out), lse(n_lse);
                           flash_fwd(d, options, v.data(), out.data(), lse.data());
                           return out;
                         },
                     .backward =
                         [&](const Values<T>& dout) {
                           Values<T> out(n_out), lse(n_lse), dqkv(qkv.size());
                           flash_fwd(d, options, qkv.data(), out.data(), lse.data());
                           flash_bwd<T>(d, options,
                                        {.dout = dout.data(),
                                         .qkv = qkv.data(),
                                         .out = out.data(),
                                         .lse = lse.data(),
                                         .dqkv = dqkv.data()});
                           return dqkv;
                         }},
                    qkv);
}

TYPED_TEST(KernelGradient, FlashAttentionWithDropout) {
  check_flash_gradient<TypeParam>(kAttention);
  check_flash_gradient<TypeParam>(
      {.micro = 2, .s = 3, .a = 4, .k = 4, .d = 3, .values = 2});  // values narrower than keys
}

TYPED_TEST(KernelGradient, Activations) {
  using T = TypeParam;
  for (const auto kind : {ActivationKind::gelu, ActivationKind::swiglu, ActivationKind::geglu}) {
    const ActivationDims d{.t = 3, .f = 2, .kind = kind};
    const std::int64_t n = is_gated(kind) ? 12 : 6;
    const Values<T> x = draw<T>(n, 9);
    check_gradient<T>({.name = "activation",
                       .forward =
                           [&](const Values<T>& v) {
                             Values<T> y(6);
                             activation_fwd(d, v.data(), y.data());
                             return y;
                           },
                       .backward =
                           [&](const Values<T>& dy) {
                             Values<T> dx = x;  // in place of x
                             activation_bwd(d, dy.data(), dx.data(), dx.data());
                             return dx;
                           }},
                      x);
  }
}

TYPED_TEST(KernelGradient, Dropout) {
  using T = TypeParam;
  const DropoutKey key{.seed = 3, .step = 1, .layer = 2, .site = 1, .probability = 0.5};
  const HiddenElements elements{.rows = {.micro = 2, .first_row = 2, .first_sample = 4}};
  const Values<T> x = draw<T>(12, 10);
  Values<T> mask(12);
  check_gradient<T>(
      {.name = "dropout",
       .forward =
           [&](const Values<T>& v) {
             Values<T> y(12);
             dropout_fwd<T>(
                 key, elements,
                 {.rows = 4, .columns = 3, .x = v.data(), .y = y.data(), .mask = mask.data()});
             return y;
           },
       .backward =
           [&](const Values<T>& dy) {
             Values<T> dx(12);
             dropout_bwd(key, 12, dy.data(), mask.data(), dx.data());
             return dx;
           }},
      x);
}

TYPED_TEST(KernelGradient, CrossEntropy) {
  using T = TypeParam;
  constexpr LossDims d{.t = 3, .v = 5, .first_column = 0, .vocab = 4, .divisor = 6};
  const Values<T> labels{Number<T>::integer(0), Number<T>::integer(3), Number<T>::integer(1)};
  const Values<T> logits = draw<T>(15, 11);
  struct Partial {
    Values<T> probs, target, sum;
  };
  const auto partial = [&](const Values<T>& x) {
    Values<T> maxima(3);
    Partial p{.probs = Values<T>(15), .target = Values<T>(3), .sum = Values<T>(3)};
    ce_max(d, x.data(), maxima.data());
    ce_partial<T>(d, {.logits = x.data(),
                      .labels = labels.data(),
                      .maxima = maxima.data(),
                      .probs = p.probs.data(),
                      .target = p.target.data(),
                      .sum = p.sum.data()});
    return p;
  };
  check_gradient<T>({.name = "cross entropy",
                     .forward =
                         [&](const Values<T>& x) {
                           const Partial p = partial(x);
                           Values<T> loss(1);
                           ce_loss(d, p.target.data(), p.sum.data(), loss.data());
                           return loss;
                         },
                     .backward =
                         [&](const Values<T>& dy) {
                           Partial p = partial(logits);
                           ce_bwd(d, p.probs.data(), p.sum.data(), labels.data(), p.probs.data());
                           for (T& x : p.probs) x *= dy[0];
                           return p.probs;
                         }},
                    logits);
}

}  // namespace
}  // namespace windtunnel::reference
