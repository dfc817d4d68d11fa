#pragma once
// Comparing with a closed form: prints expected, got and deviation, then judges.

#include <gtest/gtest.h>

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace windtunnel {

/// Counts agree to the last unit.
inline void expect_exact(const char* what, std::int64_t expected, std::int64_t got) {
  std::printf("%s: expected %" PRId64 " got %" PRId64 "\n", what, expected, got);
  EXPECT_EQ(expected, got) << what;
}

/// Relative tolerance; 0 asks for the same double.
inline void expect_relative(const char* what, double expected, double got, double tolerance) {
  const double deviation = got / expected - 1.0;
  std::printf("%s: expected %.17g got %.17g deviation %.3g\n", what, expected, got, deviation);
  EXPECT_LE(std::abs(got - expected), tolerance * std::abs(expected)) << what;
}

}  // namespace windtunnel
