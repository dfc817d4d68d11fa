#include "kernels/cpu/optimizer.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace windtunnel::cpu {

template <class T>
void sum_squares(std::int64_t n, const T* g, T* norm2) {
  constexpr std::int64_t kChunk = 4096;
  using Chunk = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; i += kChunk) {
    sum += static_cast<double>(Chunk(g + i, std::min(kChunk, n - i)).square().sum());
  }
  *norm2 += static_cast<T>(sum);
}

template <class T>
void adamw(const OptimizerConstants& k, std::int64_t step, const AdamwOperands<T>& o) {
  const auto t = static_cast<double>(step + 1);
  const T beta1 = static_cast<T>(k.beta1), rest1 = static_cast<T>(1.0 - k.beta1);
  const T beta2 = static_cast<T>(k.beta2), rest2 = static_cast<T>(1.0 - k.beta2);
  const T unbias1 = static_cast<T>(1.0 / (1.0 - std::pow(k.beta1, t)));
  const T unbias2 = static_cast<T>(1.0 / (1.0 - std::pow(k.beta2, t)));
  const T rate = static_cast<T>(k.learning_rate), decay = static_cast<T>(k.weight_decay);
  const T epsilon = static_cast<T>(k.epsilon);
  const auto [n, grads, coefficient, master, m, v, w] = o;
#pragma GCC ivdep  // w is master, or all are apart
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = coefficient * grads[i];
    const T m_new = beta1 * m[i] + rest1 * g;
    const T v_new = beta2 * v[i] + rest2 * g * g;
    const T moved = m_new * unbias1 / (std::sqrt(v_new * unbias2) + epsilon);
    const T weight = master[i] - rate * (moved + decay * master[i]);
    m[i] = m_new;
    v[i] = v_new;
    master[i] = weight;
    w[i] = weight;
  }
}

template void sum_squares(std::int64_t, const float*, float*);
template void sum_squares(std::int64_t, const double*, double*);
template void adamw(const OptimizerConstants&, std::int64_t, const AdamwOperands<float>&);
template void adamw(const OptimizerConstants&, std::int64_t, const AdamwOperands<double>&);

}  // namespace windtunnel::cpu
