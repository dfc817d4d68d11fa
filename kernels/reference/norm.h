#pragma once
// LayerNorm and RMSNorm, forward and backward.
//
// real: y = gamma (x - mean) / sqrt(var + eps) + beta; RMSNorm without mean and beta. Statistics
// are (2, t): means, then reciprocal deviations; RMSNorm (t): reciprocal root mean squares.
// field: y = gamma x + beta; statistics are 0.

#include <cmath>
#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

constexpr double kNormEpsilon = 1e-5;  // Megatron-LM's and Llama 2's default

struct NormDims {
  std::int64_t t = 0, h = 0;
};

template <class T>
struct NormForward {
  const T* x;      // (t, h)
  const T* gamma;  // (h)
  const T* beta;   // (h); not used by RMSNorm
  T* y;            // (t, h)
  T* stats;        // (2, t) or (t)
};

template <class T>
struct NormBackward {
  const T* dy;     // (t, h)
  const T* x;      // (t, h)
  const T* gamma;  // (h)
  const T* stats;
  T* dx;      // (t, h), may be dy
  T* dgamma;  // (h) +=; null where gamma and beta are frozen
  T* dbeta;   // (h) +=; not used by RMSNorm
};

/// Field semantics of both norms.
template <class T>
void scale_fwd(const NormDims& dims, const NormForward<T>& o) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t c = 0; c < dims.h; ++c) {
      const std::int64_t i = r * dims.h + c;
      o.y[i] = o.x[i] * o.gamma[c] + (o.beta ? o.beta[c] : T{});
    }
  }
}

template <class T>
void scale_bwd(const NormDims& dims, const NormBackward<T>& o) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t c = 0; c < dims.h; ++c) {
      const std::int64_t i = r * dims.h + c;
      const T dy = o.dy[i];
      if (o.dgamma) o.dgamma[c] += dy * o.x[i];
      if (o.dbeta) o.dbeta[c] += dy;
      o.dx[i] = dy * o.gamma[c];
    }
  }
}

template <class T>
void layernorm_fwd(const NormDims& dims, const NormForward<T>& o) {
  if constexpr (Number<T>::exact) {
    scale_fwd(dims, o);
    for (std::int64_t r = 0; r < 2 * dims.t; ++r) o.stats[r] = T{};
  } else {
    const auto n = static_cast<double>(dims.h);
    for (std::int64_t r = 0; r < dims.t; ++r) {
      const T* x = o.x + r * dims.h;
      double mean = 0, square = 0;
      for (std::int64_t c = 0; c < dims.h; ++c) mean += x[c] / n;
      for (std::int64_t c = 0; c < dims.h; ++c) square += (x[c] - mean) * (x[c] - mean) / n;
      const double rstd = 1.0 / std::sqrt(square + kNormEpsilon);
      o.stats[r] = static_cast<T>(mean);
      o.stats[dims.t + r] = static_cast<T>(rstd);
      for (std::int64_t c = 0; c < dims.h; ++c) {
        o.y[r * dims.h + c] = static_cast<T>((x[c] - mean) * rstd * o.gamma[c] + o.beta[c]);
      }
    }
  }
}

/// dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma.
template <class T>
void layernorm_bwd(const NormDims& dims, const NormBackward<T>& o) {
  if constexpr (Number<T>::exact) {
    scale_bwd(dims, o);
  } else {
    const auto n = static_cast<double>(dims.h);
    for (std::int64_t r = 0; r < dims.t; ++r) {
      const T* x = o.x + r * dims.h;
      const T* dy = o.dy + r * dims.h;
      const double mean = o.stats[r], rstd = o.stats[dims.t + r];
      double mean_g = 0, mean_gx = 0;
      for (std::int64_t c = 0; c < dims.h; ++c) {
        const double xhat = (x[c] - mean) * rstd;
        const double g = static_cast<double>(dy[c]) * o.gamma[c];
        mean_g += g / n;
        mean_gx += g * xhat / n;
      }
      for (std::int64_t c = 0; c < dims.h; ++c) {
        const double xhat = (x[c] - mean) * rstd;
        const T dyc = dy[c];
        if (o.dgamma) {
          o.dgamma[c] += static_cast<T>(dyc * xhat);
          o.dbeta[c] += dyc;
        }
        o.dx[r * dims.h + c] = static_cast<T>(rstd * (dyc * o.gamma[c] - mean_g - xhat * mean_gx));
      }
    }
  }
}

template <class T>
void rmsnorm_fwd(const NormDims& dims, const NormForward<T>& o) {
  if constexpr (Number<T>::exact) {
    scale_fwd(dims, o);
    for (std::int64_t r = 0; r < dims.t; ++r) o.stats[r] = T{};
  } else {
    for (std::int64_t r = 0; r < dims.t; ++r) {
      const T* x = o.x + r * dims.h;
      double square = 0;
      for (std::int64_t c = 0; c < dims.h; ++c) square += static_cast<double>(x[c]) * x[c];
      const double rms = 1.0 / std::sqrt(square / static_cast<double>(dims.h) + kNormEpsilon);
      o.stats[r] = static_cast<T>(rms);
      for (std::int64_t c = 0; c < dims.h; ++c) {
        o.y[r * dims.h + c] = static_cast<T>(x[c] * rms * o.gamma[c]);
      }
    }
  }
}

/// dx = rms (g - xhat mean(g xhat)) with g = dy gamma.
template <class T>
void rmsnorm_bwd(const NormDims& dims, const NormBackward<T>& o) {
  if constexpr (Number<T>::exact) {
    scale_bwd(dims, o);
  } else {
    for (std::int64_t r = 0; r < dims.t; ++r) {
      const T* x = o.x + r * dims.h;
      const T* dy = o.dy + r * dims.h;
      const double rms = o.stats[r];
      double mean_gx = 0;
      for (std::int64_t c = 0; c < dims.h; ++c) {
        const double g = static_cast<double>(dy[c]) * o.gamma[c];
        mean_gx += g * x[c] * rms / static_cast<double>(dims.h);
      }
      for (std::int64_t c = 0; c < dims.h; ++c) {
        const T dyc = dy[c];
        if (o.dgamma) o.dgamma[c] += static_cast<T>(dyc * x[c] * rms);
        o.dx[r * dims.h + c] = static_cast<T>(rms * (dyc * o.gamma[c] - x[c] * rms * mean_gx));
      }
    }
  }
}

}  // namespace windtunnel::reference
