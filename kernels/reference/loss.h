#pragma once
// Vocabulary-parallel cross entropy in four parts, with reductions over the tensor-parallel group
// between them (Shoeybi et al. 2019, arXiv 1909.08053, section 3).
//
// real: loss = sum_r (log sum_j exp(x_rj - max_r) - (x_r,label - max_r)) / k.
// field: the square error sum_j (x_rj - onehot_rj)^2 / k = (sum_j x_rj^2 - 2 x_r,label + 1) / k.
// Columns beyond the unpadded vocabulary take no part and have a zero gradient.

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/reference/embedding.h"
#include "kernels/reference/number.h"

namespace windtunnel::reference {

/// This rank holds columns [first_column, first_column + blocks v) of the padded vocabulary: one
/// block of (t, v), or all ranks' blocks one after the other as an all-gather leaves them.
struct LossDims {
  std::int64_t t = 0, v = 0;
  std::int64_t blocks = 1;
  std::int64_t first_column = 0;
  std::int64_t vocab = 0;    // unpadded, global
  std::int64_t divisor = 1;  // k: tokens the loss is averaged over

  std::int64_t columns() const { return blocks * v; }
  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return ((column / v) * t + row) * v + column % v;
  }
  bool real(std::int64_t column) const { return first_column + column < vocab; }
  bool is_label(std::int64_t column, std::int64_t label) const {
    return real(column) && first_column + column == label;
  }
};

/// logits (t, v) -> maxima (t); a rank with padding only gives the lowest number.
template <class T>
void ce_max(const LossDims& dims, const T* logits, T* maxima) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    if constexpr (Number<T>::exact) {
      maxima[r] = T{};
    } else {
      T largest = std::numeric_limits<T>::lowest();
      for (std::int64_t c = 0; c < dims.columns() && dims.real(c); ++c) {
        largest = std::fmax(largest, logits[dims.at(r, c)]);
      }
      maxima[r] = largest;
    }
  }
}

template <class T, class Label = T>
struct LossPartial {
  const T* logits;      // (t, v)
  const Label* labels;  // (t)
  const T* maxima;      // (t), of all ranks
  T* probs;             // (t, v), may be logits; null: not kept
  T* target;            // (t)
  T* sum;               // (t)
};

template <class T, class Label = T>
void ce_partial(const LossDims& dims, const LossPartial<T, Label>& o) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t label = to_integer(o.labels[r]);
    T target{};
    typename Number<T>::Wide sum{};
    for (std::int64_t c = 0; c < dims.columns(); ++c) {
      const std::int64_t i = dims.at(r, c);
      T prob{};
      if (dims.real(c)) {
        const T x = o.logits[i] - o.maxima[r];
        if (dims.is_label(c, label)) target = x;
        if constexpr (Number<T>::exact) {
          prob = x;
          sum += x * x;
        } else {
          prob = std::exp(x);
          sum += prob;
        }
      }
      if (o.probs != nullptr) o.probs[i] = prob;
    }
    o.target[r] = target;
    o.sum[r] = static_cast<T>(sum);
  }
}

/// target (t), sum (t) of all ranks -> loss (1) +=
template <class T>
void ce_loss(const LossDims& dims, const T* target, const T* sum, T* loss) {
  typename Number<T>::Wide total{};
  for (std::int64_t r = 0; r < dims.t; ++r) {
    if constexpr (Number<T>::exact) {
      total += sum[r] - target[r] - target[r] + Number<T>::integer(1);
    } else {
      total += std::log(static_cast<double>(sum[r])) - target[r];
    }
  }
  *loss += static_cast<T>(total * Number<typename Number<T>::Wide>::ratio(1, dims.divisor));
}

/// probs (t, v), sum (t), labels (t) -> dlogits (t, v), may be probs
template <class T, class Label>
void ce_bwd(const LossDims& dims, const T* probs, const T* sum, const Label* labels, T* dlogits) {
  const T factor = Number<T>::ratio(Number<T>::exact ? 2 : 1, dims.divisor);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t label = to_integer(labels[r]);
    for (std::int64_t c = 0; c < dims.columns(); ++c) {
      const std::int64_t i = dims.at(r, c);
      if (!dims.real(c)) {
        dlogits[i] = T{};
        continue;
      }
      const T onehot = Number<T>::integer(dims.is_label(c, label) ? 1 : 0);
      if constexpr (Number<T>::exact) {
        dlogits[i] = (probs[i] - onehot) * factor;
      } else {
        dlogits[i] = (probs[i] / sum[r] - onehot) * factor;
      }
    }
  }
}

template <class T, class Label = T>
struct LossGradient {
  const T* logits;      // (t, v)
  const Label* labels;  // (t)
  const T* maxima;      // (t), of all ranks
  const T* sum;         // (t), of all ranks
  T* dlogits;           // (t, v), may be logits
};

/// ce_bwd from the logits.
template <class T, class Label>
void ce_grad(const LossDims& dims, const LossGradient<T, Label>& o) {
  const T factor = Number<T>::ratio(Number<T>::exact ? 2 : 1, dims.divisor);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t label = to_integer(o.labels[r]);
    for (std::int64_t c = 0; c < dims.columns(); ++c) {
      const std::int64_t i = dims.at(r, c);
      if (!dims.real(c)) {
        o.dlogits[i] = T{};
        continue;
      }
      const T onehot = Number<T>::integer(dims.is_label(c, label) ? 1 : 0);
      const T x = o.logits[i] - o.maxima[r];
      if constexpr (Number<T>::exact) {
        o.dlogits[i] = (x - onehot) * factor;
      } else {
        o.dlogits[i] = static_cast<T>((std::exp(x) / o.sum[r] - onehot) * factor);
      }
    }
  }
}

}  // namespace windtunnel::reference
