#pragma once
// Counter-based random numbers: a value is a pure function of (seed, counters), so every layout of
// a plan draws the same number for the same element and any thread may draw in any order.

#include <cmath>
#include <cstdint>

namespace windtunnel {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
/// generators").
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// What hashes that differ in their last counter share: counter_hash(seed, a, b, c) is
/// mix64(counter_prefix(seed, a, b) ^ c).
constexpr std::uint64_t counter_prefix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return mix64(mix64(mix64(seed) ^ a) ^ b);
}

constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0,
                                     std::uint64_t c = 0) {
  return mix64(counter_prefix(seed, a, b) ^ c);
}

/// Uniform in [0, 1) with 53 bits.
constexpr double to_unit_interval(std::uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

/// Standard normal by Box-Muller from one hash (two derived uniforms).
inline double to_normal(std::uint64_t hash) {
  const double u1 = (static_cast<double>(hash >> 11) + 0.5) * 0x1.0p-53;
  const double u2 = to_unit_interval(mix64(hash));
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(6.283185307179586 * u2);
}

}  // namespace windtunnel
