#pragma once
// Rotary position embedding (Su et al. 2021, arXiv 2104.09864), half-split pairs (i, i + d/2) as in
// Llama and GPT-NeoX, base 10000.
//
// (x0, x1) -> (c x0 - s x1, s x0 + c x1) with c, s = cos, sin of position * base^(-2i/d); in the
// field c and s are small hashes of (position, i), so a wrong position shows and the backward, the
// transpose, is exact.

#include <cmath>
#include <cstdint>

#include "core/counter_random.h"
#include "kernels/reference/number.h"
#include "kernels/reference/placement.h"

namespace windtunnel::reference {

constexpr double kRopeBase = 10000.0;  // the paper's base

/// Columns of a row: a query heads, k key heads and k value heads of d.
struct RopeDims {
  std::int64_t t = 0, a = 0, k = 0, d = 0;
};

enum class Rotation : std::uint8_t { forward, transposed };

template <class T>
struct CosSin {
  T c, s;
};

template <class T>
CosSin<T> rotation_at(std::int64_t position, std::int64_t pair, std::int64_t d) {
  if constexpr (Number<T>::exact) {
    constexpr std::uint64_t kSeed = 0x70e1, kSmall = 11;  // any fixed small values serve
    const std::uint64_t hash =
        counter_hash(kSeed, static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(pair));
    return {.c = {hash % kSmall}, .s = {(hash >> 32) % kSmall}};
  } else {
    const double angle =
        static_cast<double>(position) *
        std::pow(kRopeBase, -2.0 * static_cast<double>(pair) / static_cast<double>(d));
    return {.c = static_cast<T>(std::cos(angle)), .s = static_cast<T>(std::sin(angle))};
  }
}

/// x (d) -> y (d), rotated by a position; may be in place.
template <class T>
void rotate(std::int64_t d, std::int64_t position, Rotation rotation, const T* x, T* y) {
  const std::int64_t half = d / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [c, forward_s] = rotation_at<T>(position, i, d);
    const T s = rotation == Rotation::forward ? forward_s : -forward_s;
    const T x0 = x[i], x1 = x[i + half];
    y[i] = c * x0 - s * x1;
    y[i + half] = s * x0 + c * x1;
  }
}

/// qkv (t, (a + 2k) d), in place: rotates the query and key heads.
template <class T>
void rope(const RopeDims& dims, const RowPlacement& rows, Rotation rotation, T* qkv) {
  const std::int64_t width = (dims.a + 2 * dims.k) * dims.d;
  for (std::int64_t r = 0; r < dims.t; ++r) {
    for (std::int64_t head = 0; head < dims.a + dims.k; ++head) {
      T* x = qkv + r * width + head * dims.d;
      rotate(dims.d, rows.position(r), rotation, x, x);
    }
  }
}

}  // namespace windtunnel::reference
