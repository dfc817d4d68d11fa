#pragma once
// Loss scaling: gradients of a loss times a scale S do not vanish in 16 bits; S falls when they
// overflow and rises when they have not for a while (Micikevicius et al. 2018, arXiv 1710.03740).
//
// The state is four numbers: S, finite steps in a row, overflows still spared before S backs off
// (hysteresis), steps skipped so far. PyTorch's GradScaler (amp/grad_scaler.py) spares none;
// Megatron-LM (core/optimizer/grad_scaler.py) and DeepSpeed (runtime/fp16/loss_scaler.py) back off
// at the second overflow. In the field S is 2^k mod p and nothing overflows.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

enum LossScaleState : std::uint8_t {
  kScale,
  kFiniteSteps,
  kSpared,
  kSkippedSteps,
  kLossScaleState
};

template <class T>
void start_loss_scale(std::int64_t log2_scale, std::int64_t hysteresis, T* state) {
  T scale = Number<T>::integer(1);
  for (std::int64_t i = 0; i < log2_scale; ++i) scale *= Number<T>::integer(2);
  state[kScale] = scale;
  state[kFiniteSteps] = T{};
  state[kSpared] = Number<T>::integer(hysteresis);
  state[kSkippedSteps] = T{};
}

/// g (n) /= S; found (1) becomes 1 when an element is not finite.
template <class T>
void unscale(std::int64_t n, const T* state, T* g, T* found) {
  if constexpr (Number<T>::exact) {
    const T inverse_scale = inverse(state[kScale]);
    for (std::int64_t i = 0; i < n; ++i) g[i] *= inverse_scale;
  } else {
    const T inverse_scale = Number<T>::integer(1) / state[kScale];
    for (std::int64_t i = 0; i < n; ++i) {
      g[i] *= inverse_scale;
      if (!std::isfinite(g[i])) *found = Number<T>::integer(1);
    }
  }
}

struct LossScaleRules {
  std::int64_t growth_interval = 2000;  // finite steps
  std::int64_t hysteresis = 1;          // the overflow at which S backs off
};

/// Doubles after an interval of finite steps, halves (to no less than 1) after an overflow.
template <class T>
void update_loss_scale(const LossScaleRules& rules, T found, T* state) {
  if (!(found == T{})) {
    state[kSkippedSteps] += Number<T>::integer(1);
    state[kFiniteSteps] = T{};
    if constexpr (!Number<T>::exact) {
      state[kSpared] -= 1;
      if (state[kSpared] <= 0) state[kScale] = std::max<T>(state[kScale] / 2, 1);
    }
    return;
  }
  state[kFiniteSteps] += Number<T>::integer(1);
  if (!(state[kFiniteSteps] == Number<T>::integer(rules.growth_interval))) return;
  state[kFiniteSteps] = T{};
  state[kSpared] = Number<T>::integer(rules.hysteresis);
  state[kScale] *= Number<T>::integer(2);
}

}  // namespace windtunnel::reference
