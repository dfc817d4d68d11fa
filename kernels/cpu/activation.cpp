#include "kernels/cpu/activation.h"

#include <Eigen/Core>
#include <algorithm>

namespace windtunnel::cpu {

namespace {

/// Elements taken at once: what is kept of them stays in the first-level cache.
constexpr int kChunk = 256;
template <class T>
using Chunk = Eigen::Array<T, Eigen::Dynamic, 1, Eigen::ColMajor, kChunk, 1>;
template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

constexpr double kSlope = 2 * 0.7978845608028654;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715;

/// Where z is bounded: there sigmoid(z) is 1, or nothing beside 1, in float and in double, and
/// exp(-z) still has a reciprocal in float. |z| is 87 at gelu's limit.
constexpr double kGeluLimit = 10, kSiluLimit = 80;

/// sigmoid(z) and 1 - sigmoid(z), each exact to a few units in its own last place.
template <class T>
struct Sigmoid {
  Chunk<T> value, complement;
};

template <class T, class Z>
Sigmoid<T> sigmoid(const Z& z) {
  Sigmoid<T> s{.value = {}, .complement = (-z).exp()};
  s.value = (1 + s.complement).inverse();
  s.complement *= s.value;
  return s;
}

template <class T>
Chunk<T> bounded(const ConstRow<T>& x, double limit) {
  return x.max(T(-limit)).min(T(limit));
}

template <class T>
struct ValuesAndSlopes {
  Chunk<T> values, slopes;
};

/// (x s(z))' = s + x s (1 - s) z'
template <class T>
ValuesAndSlopes<T> values_and_slopes(ActivationKind kind, const ConstRow<T>& x) {
  ValuesAndSlopes<T> at;
  if (kind == ActivationKind::relu2) {
    const Chunk<T> positive = x.max(T{});
    at = {.values = positive.square(), .slopes = 2 * positive};
  } else if (kind == ActivationKind::swiglu) {
    const Sigmoid<T> s = sigmoid<T>(bounded(x, kSiluLimit));
    at.values = x * s.value;
    at.slopes = s.value + at.values * s.complement;
  } else {
    const Chunk<T> b = bounded(x, kGeluLimit);
    const Sigmoid<T> s = sigmoid<T>(T(kSlope) * b * (1 + T(kCubic) * b.square()));
    at.values = x * s.value;
    at.slopes = s.value + at.values * s.complement * (T(kSlope) * (1 + T(3 * kCubic) * b.square()));
  }
  return at;
}

template <class T>
Chunk<T> values(ActivationKind kind, const ConstRow<T>& x) {
  if (kind == ActivationKind::relu2) return x.max(T{}).square();
  if (kind == ActivationKind::swiglu) return x / (1 + (-bounded(x, kSiluLimit)).exp());
  const Chunk<T> b = bounded(x, kGeluLimit);
  return x / (1 + (T(-kSlope) * b * (1 + T(kCubic) * b.square())).exp());
}

/// Calls visit(first column, columns) for the chunks of a row.
template <class F>
void for_each_chunk(std::int64_t columns, F visit) {
  for (std::int64_t c = 0; c < columns; c += kChunk) {
    visit(c, std::min<std::int64_t>(kChunk, columns - c));
  }
}

}  // namespace

template <class T>
void activation_fwd(const ActivationDims& dims, const T* x, T* y) {
  const bool gated = is_gated(dims.kind);
  const std::int64_t width = gated ? 2 * dims.f : dims.f;
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for_each_chunk(dims.f, [&](std::int64_t c, std::int64_t n) {
      const T* gate = x + r * width + c;
      Row<T> out(y + r * dims.f + c, n);
      out = values(dims.kind, ConstRow<T>(gate, n));
      if (gated) out *= ConstRow<T>(gate + dims.f, n);
    });
  }
}

template <class T>
void activation_bwd(const ActivationDims& dims, const T* dy, const T* x, T* dx) {
  const bool gated = is_gated(dims.kind);
  const std::int64_t width = gated ? 2 * dims.f : dims.f;
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for_each_chunk(dims.f, [&](std::int64_t c, std::int64_t n) {
      const T* gate = x + r * width + c;
      const ConstRow<T> d(dy + r * dims.f + c, n);
      const auto at = values_and_slopes(dims.kind, ConstRow<T>(gate, n));
      Row<T> dgate(dx + r * width + c, n);
      if (gated) {  // in this order, as dx may be x
        dgate = d * at.slopes * ConstRow<T>(gate + dims.f, n);
        Row<T>(dx + r * width + dims.f + c, n) = d * at.values;
      } else {
        dgate = d * at.slopes;
      }
    });
  }
}

template void activation_fwd(const ActivationDims&, const float*, float*);
template void activation_fwd(const ActivationDims&, const double*, double*);
template void activation_bwd(const ActivationDims&, const float*, const float*, float*);
template void activation_bwd(const ActivationDims&, const double*, const double*, double*);

}  // namespace windtunnel::cpu
