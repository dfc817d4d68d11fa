#pragma once
// Gradient norm, clipping and the optimizers.
//
// real: AdamW with decoupled weight decay (Loshchilov and Hutter 2019, arXiv 1711.05101) and SGD.
// field: a polynomial of gradient and states, so that a state sharded or updated wrongly shows:
// m = 3 m + g, v = 5 v + g^2, master -= 2 (m + 7 v) with g the clipped gradient; SGD master -= 2 g.

#include <cmath>
#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

/// Hyperparameters of GPT-3 (Brown et al. 2020, arXiv 2005.14165, appendix B); the learning rate is
/// chosen so that one step of a toy model changes its loss visibly.
struct OptimizerConstants {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0.1;
  double max_norm = 1.0;
  double clip_epsilon = 1e-6;  // Megatron-LM megatron/core/optimizer/clip_grads.py
};

/// norm2 (1) += sum of g (n) squared
template <class T>
void sum_squares(std::int64_t n, const T* g, T* norm2) {
  Dot<T> dot;
  for (std::int64_t i = 0; i < n; ++i) dot.add(g[i], g[i]);
  *norm2 += dot.value();
}

/// min(1, max_norm / (sqrt(norm2) + epsilon)); in the field 1 + norm2.
template <class T>
T clip_coefficient(const OptimizerConstants& constants, T norm2) {
  if constexpr (Number<T>::exact) {
    return Number<T>::integer(1) + norm2;
  } else {
    const double norm = std::sqrt(static_cast<double>(norm2));
    return static_cast<T>(std::fmin(1.0, constants.max_norm / (norm + constants.clip_epsilon)));
  }
}

/// g, master, m, v, w (n)
template <class T>
struct AdamwOperands {
  std::int64_t n;
  const T* g;
  T coefficient;  // of clipping
  T* master;
  T* m;
  T* v;
  T* w;  // may be master
};

/// `step` counts from 0.
template <class T>
void adamw(const OptimizerConstants& k, std::int64_t step, const AdamwOperands<T>& o) {
  for (std::int64_t i = 0; i < o.n; ++i) {
    const T g = o.coefficient * o.g[i];
    if constexpr (Number<T>::exact) {
      o.m[i] = Number<T>::integer(3) * o.m[i] + g;
      o.v[i] = Number<T>::integer(5) * o.v[i] + g * g;
      o.master[i] -= Number<T>::integer(2) * (o.m[i] + Number<T>::integer(7) * o.v[i]);
    } else {
      const auto t = static_cast<double>(step + 1);
      o.m[i] = static_cast<T>(k.beta1 * o.m[i] + (1.0 - k.beta1) * g);
      o.v[i] = static_cast<T>(k.beta2 * o.v[i] + (1.0 - k.beta2) * g * g);
      const double m_hat = o.m[i] / (1.0 - std::pow(k.beta1, t));
      const double v_hat = o.v[i] / (1.0 - std::pow(k.beta2, t));
      o.master[i] -= static_cast<T>(k.learning_rate * (m_hat / (std::sqrt(v_hat) + k.epsilon) +
                                                       k.weight_decay * o.master[i]));
    }
    o.w[i] = o.master[i];
  }
}

/// g, master, w (n)
template <class T>
struct SgdOperands {
  std::int64_t n;
  const T* g;
  T coefficient;
  T* master;
  T* w;  // may be master
};

template <class T>
void sgd(const OptimizerConstants& k, const SgdOperands<T>& o) {
  for (std::int64_t i = 0; i < o.n; ++i) {
    T rate;
    if constexpr (Number<T>::exact) {
      rate = Number<T>::integer(2);
    } else {
      rate = static_cast<T>(k.learning_rate);
    }
    o.master[i] -= rate * o.coefficient * o.g[i];
    o.w[i] = o.master[i];
  }
}

}  // namespace windtunnel::reference
