#pragma once
// Fused attention: the same function as scores, softmax, dropout and context, keeping only the
// output and log(sum(exp)) of each row and rebuilding the rest in the backward (Dao et al. 2022,
// arXiv 2205.14135).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/reference/attention.h"
#include "kernels/reference/dropout.h"

namespace windtunnel::reference {

/// Dropout of the probabilities inside the kernel.
struct FlashDropout {
  DropoutKey key;
  AttentionElements elements;
};

struct FlashOptions {
  AttentionMask mask;
  std::optional<FlashDropout> dropout;

  /// What a probability is multiplied with: 1, or the dropout's 0 or 1 / (1 - p).
  template <class T>
  T factor(const AttentionDims& dims, const AttentionRow& row, std::int64_t key) const {
    if (!dropout) return Number<T>::integer(1);
    const std::int64_t r = (row.sample * dims.a + row.head) * dims.s + row.query;
    return dropout->elements.kept(dropout->key, r, key) ? keep_scale<T>(dropout->key) : T{};
  }
};

/// qkv (t, (a + 2k) d) -> out (t, a d), lse (t a): (row, head). Of values of their own width dv:
/// qkv (t, (a + k) d + k dv), out (t, a dv).
template <class T>
void flash_fwd(const AttentionDims& dims, const FlashOptions& options, const T* qkv, T* out,
               T* lse) {
  std::vector<T> p(static_cast<std::size_t>(dims.s));
  for_each_row(dims, [&](const AttentionRow& row) {
    score_row(dims, row, qkv, p.data());
    lse[dims.row(row.sample, row.query) * dims.a + row.head] =
        softmax_row(dims, options.mask, row, p.data(), p.data());
    for (std::int64_t j = 0; j < dims.s; ++j) {
      p[static_cast<std::size_t>(j)] *= options.factor<T>(dims, row, j);
    }
    T* o = out + dims.out(row.sample, row.query, row.head);
    for (std::int64_t c = 0; c < dims.value_width(); ++c) {
      Dot<T> dot;
      for (std::int64_t j = 0; j < dims.s; ++j) {
        dot.add(p[static_cast<std::size_t>(j)], qkv[dims.value(row.sample, j, row.head) + c]);
      }
      o[c] = dot.value();
    }
  });
}

template <class T>
struct FlashBackward {
  const T* dout;  // (t, a d)
  const T* qkv;   // (t, (a + 2k) d)
  const T* out;   // (t, a d)
  const T* lse;   // (t a)
  T* dqkv;        // (t, (a + 2k) d)
};

/// One row of the backward: dS = P (dP - sum(dout out)), added into dq, dk, dv.
template <class T>
void flash_bwd_row(const AttentionDims& dims, const FlashOptions& options, const AttentionRow& row,
                   const FlashBackward<T>& o) {
  const T scale = score_scale<T>(dims.d);
  const std::int64_t at = dims.out(row.sample, row.query, row.head);
  const std::int64_t query = dims.query(row.sample, row.query, row.head);
  std::vector<T> p(static_cast<std::size_t>(dims.s));
  score_row(dims, row, o.qkv, p.data());
  softmax_row(dims, options.mask, row, p.data(), p.data());
  Dot<T> inner;
  for (std::int64_t c = 0; c < dims.value_width(); ++c) inner.add(o.dout[at + c], o.out[at + c]);
  for (std::int64_t j = options.mask.first_key(row.query); j < options.mask.keys(row.query, dims.s);
       ++j) {
    const std::int64_t key = dims.key(row.sample, j, row.head);
    const std::int64_t value = dims.value(row.sample, j, row.head);
    const T factor = options.factor<T>(dims, row, j);
    const T probability = p[static_cast<std::size_t>(j)];
    Dot<T> dp;
    for (std::int64_t c = 0; c < dims.value_width(); ++c) {
      dp.add(o.dout[at + c], o.qkv[value + c]);
      o.dqkv[value + c] += probability * factor * o.dout[at + c];
    }
    T ds = dp.value() * factor;
    if constexpr (!Number<T>::exact) ds = probability * (ds - inner.value());
    ds *= scale;
    for (std::int64_t c = 0; c < dims.d; ++c) {
      o.dqkv[query + c] += ds * o.qkv[key + c];
      o.dqkv[key + c] += ds * o.qkv[query + c];
    }
  }
}

template <class T>
void flash_bwd(const AttentionDims& dims, const FlashOptions& options, const FlashBackward<T>& o) {
  std::fill(o.dqkv, o.dqkv + dims.micro * dims.s * dims.width(), T{});
  for_each_row(dims, [&](const AttentionRow& row) { flash_bwd_row(dims, options, row, o); });
}

}  // namespace windtunnel::reference
