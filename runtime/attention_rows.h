#pragma once
// Attention and dropout of the kernel table (`kernel_rows.h`): kernels that depend on where this
// rank's heads, positions and samples lie in the whole.

#include <cstdint>

#include "kernels/reference/elementwise.h"
#include "kernels/reference/latent.h"
#include "program/program.h"
#include "runtime/kernel_sets.h"
#include "runtime/row_operands.h"

namespace windtunnel::kernel_rows {

namespace ref = reference;

template <class C>
void rope(const C& c) {
  const ref::RopeDims d{.t = c.dim(0), .a = c.dim(1), .k = c.dim(2), .d = c.dim(3)};
  const std::int64_t n = d.t * (d.a + 2 * d.k) * d.d;
  const auto* in = c.in(0, n);
  auto* out = c.out(0, n);
  if (in != out) ref::copy(n, in, out);
  const bool forward = c.shape.kernel == Kernel::rope_fwd;
  SetOf<C>::rope(d, c.rows(c.dim(4), d.t),
                 forward ? ref::Rotation::forward : ref::Rotation::transposed, out);
}

template <class C>
void latent_heads(const C& c) {
  const ref::LatentDims d{
      .t = c.dim(0), .heads = c.dim(1), .nope = c.dim(2), .rope = c.dim(3), .value = c.dim(4)};
  const std::int64_t q = d.t * d.q_width(), kv = d.t * d.kv_width(), rope = d.t * d.rope,
                     qkv = d.t * d.width();
  const auto rows = c.rows(c.dim(5), d.t);
  if (c.shape.kernel == Kernel::latent_heads_fwd) {
    ref::latent_heads_fwd<ValueOf<C>>(
        d, rows,
        {.q = c.in(0, q), .kv = c.in(1, kv), .k_rope = c.in(2, rope), .qkv = c.out(0, qkv)});
  } else {
    ref::latent_heads_bwd<ValueOf<C>>(
        d, rows,
        {.dqkv = c.in(0, qkv), .dq = c.out(0, q), .dkv = c.out(1, kv), .dk_rope = c.out(2, rope)});
  }
}

/// Sizes of an attention operand: rows of qkv, scores and output.
struct AttentionSizes {
  std::int64_t qkv, scores, out, lse;
};

template <class C>
ref::AttentionDims attention_dims(const C& c) {
  return {.micro = c.dim(0), .s = c.dim(1), .a = c.dim(2), .k = c.dim(3), .d = c.dim(4)};
}

inline AttentionSizes sizes_of(const ref::AttentionDims& d) {
  const std::int64_t t = d.micro * d.s;
  return {.qkv = t * d.width(),
          .scores = d.micro * d.a * d.s * d.s,
          .out = t * d.a * d.value_width(),
          .lse = t * d.a};
}

template <class C>
ref::AttentionMask attention_mask(const C& c, std::int64_t window = 0) {
  return {.causal = c.has(kCausal),
          .bias = c.has(kAlibi) ? ref::Bias::alibi : ref::Bias::none,
          .first_head = c.first_head(c.dim(2)),
          .heads = c.program.job.heads,
          .window = window};
}

template <class C>
ref::DropoutKey dropout_key(const C& c, std::int64_t site) {
  const Job& job = c.program.job;
  return {.seed = c.seed,
          .step = c.step,
          .layer = c.op.layer,
          .site = site,
          .probability = c.has(kAttentionDropout) ? job.attention_dropout : job.hidden_dropout};
}

template <class C>
ref::AttentionElements attention_elements(const C& c, std::int64_t s, std::int64_t a) {
  return {.s = s, .a = a, .first_sample = c.first_sample(), .first_head = c.first_head(a)};
}

template <class C>
void flash(const C& c) {
  ref::AttentionDims d = attention_dims(c);
  d.values = c.dim(5);
  const AttentionSizes n = sizes_of(d);
  ref::FlashOptions options{.mask = attention_mask(c, c.dim(6)), .dropout = {}};
  if (c.has(kAttentionDropout)) {
    options.dropout =
        ref::FlashDropout{.key = dropout_key(c, 0), .elements = attention_elements(c, d.s, d.a)};
  }
  if (c.shape.kernel == Kernel::flash_fwd) {
    SetOf<C>::flash_fwd(d, options, c.in(0, n.qkv), c.out(0, n.out), c.out(1, n.lse));
  } else {
    SetOf<C>::flash_bwd(d, options,
                        {.dout = c.in(0, n.out),
                         .qkv = c.in(1, n.qkv),
                         .out = c.in(2, n.out),
                         .lse = c.in(3, n.lse),
                         .dqkv = c.out(0, n.qkv)});
  }
}

/// The four batched products of unfused attention.
template <class C>
void scores_and_context(const C& c) {
  const ref::AttentionDims d = attention_dims(c);
  const AttentionSizes n = sizes_of(d);
  switch (c.shape.kernel) {
    case Kernel::scores_fwd:
      return SetOf<C>::scores_fwd(d, c.in(0, n.qkv), c.out(0, n.scores));
    case Kernel::context_fwd:
      return SetOf<C>::context_fwd(d, c.in(0, n.scores), c.in(1, n.qkv), c.out(0, n.out));
    case Kernel::context_bwd:
      return SetOf<C>::context_bwd(d, {.dout = c.in(0, n.out),
                                       .probabilities = c.in(1, n.scores),
                                       .qkv = c.in(2, n.qkv),
                                       .dprobabilities = c.out(0, n.scores),
                                       .dqkv = c.out(1, n.qkv)});
    default:
      return SetOf<C>::scores_bwd(d, c.in(0, n.scores), c.in(1, n.qkv), c.out(0, n.qkv));
  }
}

template <class C>
void softmax(const C& c) {
  const ref::AttentionDims d{.micro = c.dim(0), .s = c.dim(1), .a = c.dim(2), .k = 1, .d = 1};
  const std::int64_t n = sizes_of(d).scores;
  if (c.shape.kernel == Kernel::softmax_fwd) {
    SetOf<C>::softmax_fwd(d, attention_mask(c, c.dim(3)), c.in(0, n), c.out(0, n));
  } else {
    SetOf<C>::softmax_bwd(d, attention_mask(c, c.dim(3)), c.in(0, n), c.in(1, n), c.out(0, n));
  }
}

template <class C>
void dropout_fwd(const C& c) {
  const std::int64_t rows = c.dim(0), columns = c.dim(1), n = rows * columns;
  const ref::DropoutForward<typename C::Value, typename C::Mask> operands{.rows = rows,
                                                                          .columns = columns,
                                                                          .x = c.in(0, n),
                                                                          .y = c.out(0, n),
                                                                          .mask = c.mask_out(1, n)};
  const ref::DropoutKey key = dropout_key(c, c.dim(2));
  if (c.has(kAttentionDropout)) {
    SetOf<C>::dropout_attention(key, attention_elements(c, c.dim(4), c.dim(5)), operands);
  } else {
    SetOf<C>::dropout_hidden(key, ref::HiddenElements{c.rows(c.dim(3), rows)}, operands);
  }
}

template <class C>
void dropout_bwd(const C& c) {
  const std::int64_t n = c.dim(0) * c.dim(1);
  ref::dropout_bwd(dropout_key(c, c.dim(2)), n, c.in(0, n), c.mask_in(1, n), c.out(0, n));
}

template <class C>
void dropout_add(const C& c) {
  const std::int64_t t = c.dim(0), h = c.dim(1), n = t * h;
  SetOf<C>::dropout_add(dropout_key(c, c.dim(2)), ref::HiddenElements{c.rows(c.dim(3), t)},
                        {.t = t,
                         .h = h,
                         .x = c.in(0, n),
                         .residual = c.in(1, n),
                         .bias = c.has(kHasBias) ? c.in(2, h) : nullptr,
                         .y = c.out(0, n),
                         .mask = c.mask_out(1, n)});
}

}  // namespace windtunnel::kernel_rows
