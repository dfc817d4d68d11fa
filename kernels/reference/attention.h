#pragma once
// Attention as separate kernels: scores, softmax, context, and their gradients.
//
// qkv is (t, (a + 2k) d), a row being [a query heads | k key heads | k value heads] of width d and
// row = position * micro + sample; query head i reads key and value head i / (a / k). Scores and
// probabilities are (micro * a, s, s): (sample, head, query, key). Value heads of the fused kernel
// may have a width of their own.
// real: S = q k^T / sqrt(d), P = softmax(S - alibi) over keys up to the query, the nearest of them
// where there is a window.
// field: S = q k^T, P = S - alibi of the keys a query sees and 0 elsewhere.

#include <cmath>
#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

struct AttentionDims {
  std::int64_t micro = 0, s = 0, a = 0, k = 0, d = 0;
  std::int64_t values = 0;  // width of a value head; 0: d

  std::int64_t value_width() const { return values > 0 ? values : d; }
  std::int64_t width() const { return (a + k) * d + k * value_width(); }
  std::int64_t row(std::int64_t sample, std::int64_t position) const {
    return position * micro + sample;
  }
  /// Offsets in qkv of the query, key and value vectors that `head` uses.
  std::int64_t query(std::int64_t sample, std::int64_t position, std::int64_t head) const {
    return row(sample, position) * width() + head * d;
  }
  std::int64_t key(std::int64_t sample, std::int64_t position, std::int64_t head) const {
    return row(sample, position) * width() + (a + head / (a / k)) * d;
  }
  std::int64_t value(std::int64_t sample, std::int64_t position, std::int64_t head) const {
    return row(sample, position) * width() + (a + k) * d + head / (a / k) * value_width();
  }
  /// Offset of a head's output vector in out (t, a d), of the values' width.
  std::int64_t out(std::int64_t sample, std::int64_t position, std::int64_t head) const {
    return row(sample, position) * a * value_width() + head * value_width();
  }
  /// Offset of a row of scores.
  std::int64_t score(std::int64_t sample, std::int64_t head, std::int64_t position) const {
    return ((sample * a + head) * s + position) * s;
  }
};

enum class Bias : std::uint8_t { none, alibi };

/// What is added to the scores and which keys a query sees.
struct AttentionMask {
  bool causal = true;
  Bias bias = Bias::none;
  std::int64_t first_head = 0;  // global number of this rank's first query head
  std::int64_t heads = 1;       // global query heads
  std::int64_t window = 0;      // keys a query sees, its own the last; 0: all before it

  std::int64_t first_key(std::int64_t query) const {
    return window > 0 && query >= window ? query + 1 - window : 0;
  }
  std::int64_t keys(std::int64_t query, std::int64_t s) const { return causal ? query + 1 : s; }
};

template <class T>
T score_scale(std::int64_t d) {
  if constexpr (Number<T>::exact) {
    return Number<T>::integer(1);
  } else {
    return static_cast<T>(1.0 / std::sqrt(static_cast<double>(d)));
  }
}

/// Slope of a global head: 2^(-8 (i + 1) / n) for n heads, n a power of two; else the nearest lower
/// power's slopes followed by every other slope of twice that power (Press et al. 2022, arXiv
/// 2108.12409, and its reference code). In the field: i + 1.
template <class T>
T alibi_slope(std::int64_t head, std::int64_t heads) {
  if constexpr (Number<T>::exact) {
    return Number<T>::integer(head + 1);
  } else {
    std::int64_t power = 1;
    while (2 * power <= heads) power *= 2;
    const auto n = static_cast<double>(power);
    const double exponent = head < power ? -8.0 * static_cast<double>(head + 1) / n
                                         : -4.0 * static_cast<double>(2 * (head - power) + 1) / n;
    return static_cast<T>(std::exp2(exponent));
  }
}

/// Offsets of one (sample, head, query) row.
struct AttentionRow {
  std::int64_t sample, head, query;
};

template <class F>
void for_each_row(const AttentionDims& dims, F visit) {
  for (std::int64_t sample = 0; sample < dims.micro; ++sample) {
    for (std::int64_t head = 0; head < dims.a; ++head) {
      for (std::int64_t query = 0; query < dims.s; ++query) {
        visit(AttentionRow{.sample = sample, .head = head, .query = query});
      }
    }
  }
}

/// One row of scores: out (s)
template <class T>
void score_row(const AttentionDims& dims, const AttentionRow& row, const T* qkv, T* out) {
  const T scale = score_scale<T>(dims.d);
  const T* q = qkv + dims.query(row.sample, row.query, row.head);
  for (std::int64_t j = 0; j < dims.s; ++j) {
    const T* key = qkv + dims.key(row.sample, j, row.head);
    Dot<T> dot;
    for (std::int64_t c = 0; c < dims.d; ++c) dot.add(q[c], key[c]);
    out[j] = dot.value() * scale;
  }
}

/// One row of probabilities: scores (s) -> probabilities (s), may be in place. Returns
/// log(sum(exp)) of the row, 0 in the field.
template <class T>
T softmax_row(const AttentionDims& dims, const AttentionMask& mask, const AttentionRow& row,
              const T* scores, T* probabilities) {
  const std::int64_t keys = mask.keys(row.query, dims.s);
  const T slope =
      mask.bias == Bias::alibi ? alibi_slope<T>(mask.first_head + row.head, mask.heads) : T{};
  const std::int64_t first = mask.first_key(row.query);
  for (std::int64_t j = 0; j < first; ++j) probabilities[j] = T{};
  for (std::int64_t j = first; j < keys; ++j) {
    probabilities[j] = scores[j] - slope * Number<T>::integer(row.query - j);
  }
  for (std::int64_t j = keys; j < dims.s; ++j) probabilities[j] = T{};
  if constexpr (Number<T>::exact) {
    return T{};
  } else {
    T largest = probabilities[first];
    double sum = 0;
    for (std::int64_t j = first + 1; j < keys; ++j) largest = std::fmax(largest, probabilities[j]);
    for (std::int64_t j = first; j < keys; ++j) {
      sum += std::exp(static_cast<double>(probabilities[j]) - largest);
    }
    const double lse = largest + std::log(sum);
    for (std::int64_t j = first; j < keys; ++j) {
      probabilities[j] = static_cast<T>(std::exp(probabilities[j] - lse));
    }
    return static_cast<T>(lse);
  }
}

/// qkv -> scores
template <class T>
void scores_fwd(const AttentionDims& dims, const T* qkv, T* scores) {
  for_each_row(dims, [&](const AttentionRow& row) {
    score_row(dims, row, qkv, scores + dims.score(row.sample, row.head, row.query));
  });
}

/// scores -> probabilities, may be in place
template <class T>
void softmax_fwd(const AttentionDims& dims, const AttentionMask& mask, const T* scores,
                 T* probabilities) {
  for_each_row(dims, [&](const AttentionRow& row) {
    const std::int64_t at = dims.score(row.sample, row.head, row.query);
    softmax_row(dims, mask, row, scores + at, probabilities + at);
  });
}

/// probabilities, qkv -> out (t, a d)
template <class T>
void context_fwd(const AttentionDims& dims, const T* probabilities, const T* qkv, T* out) {
  for_each_row(dims, [&](const AttentionRow& row) {
    const T* p = probabilities + dims.score(row.sample, row.head, row.query);
    T* o = out + dims.out(row.sample, row.query, row.head);
    for (std::int64_t c = 0; c < dims.d; ++c) {
      Dot<T> dot;
      for (std::int64_t j = 0; j < dims.s; ++j) {
        dot.add(p[j], qkv[dims.value(row.sample, j, row.head) + c]);
      }
      o[c] = dot.value();
    }
  });
}

/// Sets the columns of dqkv that belong to heads [from, to) to 0: they are summed into afterwards.
template <class T>
void clear_heads(const AttentionDims& dims, std::int64_t from, std::int64_t to, T* dqkv) {
  for (std::int64_t r = 0; r < dims.micro * dims.s; ++r) {
    for (std::int64_t c = from * dims.d; c < to * dims.d; ++c) dqkv[r * dims.width() + c] = T{};
  }
}

/// dout (t, a d), probabilities, qkv -> dprobabilities, dqkv [value columns]
template <class T>
struct ContextBackward {
  const T* dout;
  const T* probabilities;
  const T* qkv;
  T* dprobabilities;
  T* dqkv;
};

template <class T>
void context_bwd(const AttentionDims& dims, const ContextBackward<T>& o) {
  clear_heads(dims, dims.a + dims.k, dims.a + 2 * dims.k, o.dqkv);
  for_each_row(dims, [&](const AttentionRow& row) {
    const std::int64_t at = dims.score(row.sample, row.head, row.query);
    const T* dout = o.dout + dims.out(row.sample, row.query, row.head);
    for (std::int64_t j = 0; j < dims.s; ++j) {
      const std::int64_t value = dims.value(row.sample, j, row.head);
      Dot<T> dot;
      for (std::int64_t c = 0; c < dims.d; ++c) {
        dot.add(dout[c], o.qkv[value + c]);
        o.dqkv[value + c] += o.probabilities[at + j] * dout[c];
      }
      o.dprobabilities[at + j] = dot.value();
    }
  });
}

/// dprobabilities, probabilities -> dscores, may be in place of dprobabilities
template <class T>
void softmax_bwd(const AttentionDims& dims, const AttentionMask& mask, const T* dprobabilities,
                 const T* probabilities, T* dscores) {
  for_each_row(dims, [&](const AttentionRow& row) {
    const std::int64_t at = dims.score(row.sample, row.head, row.query);
    const std::int64_t keys = mask.keys(row.query, dims.s);
    typename Number<T>::Wide inner{};
    if constexpr (!Number<T>::exact) {
      for (std::int64_t j = 0; j < keys; ++j)
        inner += static_cast<double>(probabilities[at + j]) * dprobabilities[at + j];
    }
    const std::int64_t first = mask.first_key(row.query);
    for (std::int64_t j = 0; j < dims.s; ++j) {
      if (j >= keys || j < first) {
        dscores[at + j] = T{};
      } else if constexpr (Number<T>::exact) {
        dscores[at + j] = dprobabilities[at + j];
      } else {
        dscores[at + j] = static_cast<T>(probabilities[at + j] * (dprobabilities[at + j] - inner));
      }
    }
  });
}

/// dscores, qkv -> dqkv [query and key columns]
template <class T>
void scores_bwd(const AttentionDims& dims, const T* dscores, const T* qkv, T* dqkv) {
  const T scale = score_scale<T>(dims.d);
  clear_heads(dims, 0, dims.a + dims.k, dqkv);
  for_each_row(dims, [&](const AttentionRow& row) {
    const T* ds = dscores + dims.score(row.sample, row.head, row.query);
    const std::int64_t query = dims.query(row.sample, row.query, row.head);
    for (std::int64_t j = 0; j < dims.s; ++j) {
      const std::int64_t key = dims.key(row.sample, j, row.head);
      const T d = ds[j] * scale;
      for (std::int64_t c = 0; c < dims.d; ++c) {
        dqkv[query + c] += d * qkv[key + c];
        dqkv[key + c] += d * qkv[query + c];
      }
    }
  });
}

}  // namespace windtunnel::reference
