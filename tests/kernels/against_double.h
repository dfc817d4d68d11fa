#pragma once
// Comparing a kernel of float or double with the double reference on the same numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/gradient_check.h"

namespace windtunnel::reference {

template <class T>
Values<double> widened(const Values<T>& values) {
  return {values.begin(), values.end()};
}

/// Rounding errors of a sum of `terms` products add up like a random walk, to sqrt(terms) half
/// units in the last place; 4 leaves room for the worst of some thousand elements and for what a
/// kernel rounds beside the sum.
template <class T>
double rounding_bound(std::int64_t terms) {
  constexpr double kRoom = 4.0;
  return kRoom * std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1))) *
         static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// `got` was summed from `terms` products an element; errors are relative to the largest element.
template <class T>
void expect_rounded(const Values<double>& expected, const Values<T>& got, std::int64_t terms,
                    const char* what) {
  ASSERT_EQ(expected.size(), got.size()) << what;
  double scale = 1.0;
  for (const double x : expected) scale = std::max(scale, std::abs(x));
  const double bound = rounding_bound<T>(terms) * scale;
  std::size_t worst = 0;
  double difference = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = std::abs(expected[i] - static_cast<double>(got[i]));
    if (!(d <= difference)) {  // true of a NaN too
      difference = d;
      worst = i;
    }
  }
  if (got.empty()) return;
  EXPECT_LE(difference, bound) << what << " element " << worst << ": expected " << expected[worst]
                               << ", got " << got[worst] << ", " << terms << " terms";
}

}  // namespace windtunnel::reference
