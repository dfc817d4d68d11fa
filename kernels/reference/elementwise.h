#pragma once
// Element by element: sums, copies, scales, and the MLP's activations.
//
// Activations of real numbers: gelu(x) = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 (Hendrycks
// and Gimpel 2016, tanh form), relu2(x) = max(x, 0)^2, swiglu = silu(gate) up, geglu = gelu(gate)
// up (Shazeer 2020, arXiv 2002.05202). In the field every g is g(x) = x^2.

#include <cmath>
#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

/// Numbered as Shape::dims[2] of the activation kernels.
enum class ActivationKind : std::uint8_t { gelu, swiglu, geglu, relu2 };

constexpr bool is_gated(ActivationKind kind) {
  return kind == ActivationKind::swiglu || kind == ActivationKind::geglu;
}

/// A function and its derivative at one point.
template <class T>
struct ValueAndSlope {
  T value, slope;
};

inline ValueAndSlope<double> gelu_at(double x) {
  constexpr double kRoot = 0.7978845608028654;  // sqrt(2 / pi)
  const double t = std::tanh(kRoot * (x + 0.044715 * x * x * x));
  return {
      .value = 0.5 * x * (1.0 + t),
      .slope = 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * kRoot * (1.0 + 3.0 * 0.044715 * x * x)};
}

/// Rounded to T.
template <class T>
ValueAndSlope<T> real_values(const ValueAndSlope<double>& at) {
  return {.value = static_cast<T>(at.value), .slope = static_cast<T>(at.slope)};
}

template <class T>
ValueAndSlope<T> activation_at(ActivationKind kind, T x) {
  if constexpr (Number<T>::exact) {
    return {.value = x * x, .slope = x + x};
  } else {
    switch (kind) {
      case ActivationKind::gelu:
      case ActivationKind::geglu:
        return real_values<T>(gelu_at(x));
      case ActivationKind::swiglu: {
        const double sigmoid = 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
        return real_values<T>(
            {.value = x * sigmoid, .slope = sigmoid * (1.0 + x * (1.0 - sigmoid))});
      }
      case ActivationKind::relu2: {
        const double positive = std::fmax(x, 0.0);
        return real_values<T>({.value = positive * positive, .slope = 2.0 * positive});
      }
    }
    return {};
  }
}

struct ActivationDims {
  std::int64_t t = 0, f = 0;
  ActivationKind kind = ActivationKind::gelu;
};

/// x (t, f), or (t, 2f) = [gate | up] -> y (t, f)
template <class T>
void activation_fwd(const ActivationDims& dims, const T* x, T* y) {
  const bool gated = is_gated(dims.kind);
  const std::int64_t width = gated ? 2 * dims.f : dims.f;
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t c = 0; c < dims.f; ++c) {
      const T value = activation_at(dims.kind, x[r * width + c]).value;
      y[r * dims.f + c] = gated ? value * x[r * width + dims.f + c] : value;
    }
  }
}

/// dy (t, f), x -> dx like x; dx may be x
template <class T>
void activation_bwd(const ActivationDims& dims, const T* dy, const T* x, T* dx) {
  const bool gated = is_gated(dims.kind);
  const std::int64_t width = gated ? 2 * dims.f : dims.f;
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t c = 0; c < dims.f; ++c) {
      const auto [value, slope] = activation_at(dims.kind, x[r * width + c]);
      const T d = dy[r * dims.f + c];
      if (gated) {
        const T up = x[r * width + dims.f + c];
        dx[r * width + dims.f + c] = d * value;
        dx[r * width + c] = d * slope * up;
      } else {
        dx[r * width + c] = d * slope;
      }
    }
  }
}

/// activation_fwd, every row times its weight: x, w (t) -> y (t, f)
template <class T>
void weighted_activation_fwd(const ActivationDims& dims, const T* x, const T* w, T* y) {
  activation_fwd(dims, x, y);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t c = 0; c < dims.f; ++c) y[r * dims.f + c] *= w[r];
  }
}

template <class T>
struct WeightedActivationBackward {
  const T* dy;  // (t, f)
  const T* x;   // (t, f) or (t, 2f)
  const T* w;   // (t)
  T* dx;        // like x
  T* dw;        // (t)
};

template <class T>
void weighted_activation_bwd(const ActivationDims& dims, const WeightedActivationBackward<T>& o) {
  const bool gated = is_gated(dims.kind);
  const std::int64_t width = gated ? 2 * dims.f : dims.f;
  for (std::int64_t r = 0; r < dims.t; ++r) {
    Dot<T> dot;
    for (std::int64_t c = 0; c < dims.f; ++c) {
      const T value = activation_at(dims.kind, o.x[r * width + c]).value;
      dot.add(o.dy[r * dims.f + c], gated ? value * o.x[r * width + dims.f + c] : value);
    }
    o.dw[r] = dot.value();
  }
  activation_bwd(dims, o.dy, o.x, o.dx);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t c = 0; c < width; ++c) o.dx[r * width + c] *= o.w[r];
  }
}

/// x, residual (t, h), bias (h) or null -> y (t, h)
template <class T>
struct ResidualAdd {
  std::int64_t t, h;
  const T* x;
  const T* residual;
  const T* bias;
  T* y;
};

template <class T>
void residual_add(const ResidualAdd<T>& o) {
  for (std::int64_t r = 0; r < o.t; ++r) {
    for (std::int64_t c = 0; c < o.h; ++c) {
      const std::int64_t i = r * o.h + c;
      o.y[i] = o.x[i] + o.residual[i] + (o.bias ? o.bias[c] : T{});
    }
  }
}

template <class T>
void add(std::int64_t n, const T* x, const T* y, T* z) {
  for (std::int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

/// Also `cast`: every element type is held as T here.
template <class T>
void copy(std::int64_t n, const T* x, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

template <class T>
void zero(std::int64_t n, T* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = T{};
}

/// The largest magnitude; in the field, which has no order, 0.
template <class T>
T amax(std::int64_t n, const T* x) {
  if constexpr (Number<T>::exact) {
    return T{};
  } else {
    T largest{};
    for (std::int64_t i = 0; i < n; ++i) largest = std::fmax(largest, std::fabs(x[i]));
    return largest;
  }
}

struct Ratio {
  std::int64_t by = 1, over = 1;
};

/// y = x by / over; y may be x
template <class T>
void scale(std::int64_t n, const Ratio& ratio, const T* x, T* y) {
  const T factor = Number<T>::ratio(ratio.by, ratio.over);
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

/// y += x
template <class T>
void accumulate(std::int64_t n, const T* x, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

}  // namespace windtunnel::reference
