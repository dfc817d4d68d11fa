#pragma once
// Checks that a backward kernel is the derivative of its forward, for both number types with one
// formula: f'(0) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h, which is exact for polynomials up
// to degree 4, so it holds with equality in the field, where every kernel is such a polynomial of
// each of its inputs.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "core/counter_random.h"
#include "kernels/reference/number.h"

namespace windtunnel::reference {

template <class T>
using Values = std::vector<T>;

/// Random elements: standard normal, or uniform in the field.
template <class T>
Values<T> draw(std::int64_t n, std::uint64_t seed) {
  Values<T> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t hash = counter_hash(seed, static_cast<std::uint64_t>(i));
    if constexpr (Number<T>::exact) {
      values.push_back({hash % kPrime});
    } else {
      values.push_back(to_normal(hash));
    }
  }
  return values;
}

/// Truncation of the formula at h = 1e-3 (h^4 = 1e-12 times a fifth derivative of some 100) and
/// rounding (1e-16 / h times values of some 10) both stay below.
constexpr double kDerivativeTolerance = 1e-9;

template <class T>
void expect_close(T expected, T got, const char* what, std::size_t i) {
  if constexpr (Number<T>::exact) {
    EXPECT_EQ(expected.value, got.value) << what << " element " << i;
  } else {
    const double scale = std::max(1.0, std::abs(expected));
    EXPECT_NEAR(expected, got, kDerivativeTolerance * scale) << what << " element " << i;
  }
}

template <class T>
T inner(const Values<T>& a, const Values<T>& b) {
  Dot<T> dot;
  for (std::size_t i = 0; i < a.size(); ++i) dot.add(a[i], b[i]);
  return dot.value();
}

/// forward: x -> y; backward: dy -> dx at `x`.
template <class T>
struct Differentiable {
  const char* name;
  std::function<Values<T>(const Values<T>&)> forward;
  std::function<Values<T>(const Values<T>&)> backward;
};

template <class T>
void check_gradient(const Differentiable<T>& f, const Values<T>& x) {
  constexpr std::uint64_t kOutputSeed = 99;
  const Values<T> dy = draw<T>(static_cast<std::int64_t>(f.forward(x).size()), kOutputSeed);
  const Values<T> dx = f.backward(dy);
  ASSERT_EQ(dx.size(), x.size()) << f.name;
  T step;
  if constexpr (Number<T>::exact) {
    step = Number<T>::integer(1);
  } else {
    step = 1e-3;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](std::int64_t steps) {
      Values<T> moved = x;
      moved[i] += Number<T>::integer(steps) * step;
      return inner(dy, f.forward(moved));
    };
    const T numerator = Number<T>::integer(8) * (at(1) - at(-1)) - (at(2) - at(-2));
    T expected = numerator * Number<T>::ratio(1, 12);
    if constexpr (!Number<T>::exact) expected /= step;
    expect_close(expected, dx[i], f.name, i);
  }
}

}  // namespace windtunnel::reference
