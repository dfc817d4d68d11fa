#pragma once
// Dropout whose mask is a pure function of the global element, so that every layout (and every
// recomputation) drops the same elements.

#include <cmath>
#include <cstdint>

#include "core/counter_random.h"
#include "kernels/reference/number.h"
#include "kernels/reference/placement.h"

namespace windtunnel::reference {

/// Which draw this is; two sites of a layer have different numbers.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0, layer = 0, site = 0;
  double probability = 0.0;
};

/// A row of draws by its place in the whole: a sample, and a number that is its own in the sample.
struct DropoutRow {
  std::int64_t sample, row;
};

/// Seed of one site's draws.
inline std::uint64_t draws_of(const DropoutKey& key) {
  const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  return counter_hash(key.seed, u(key.step), u(key.layer + 1), u(key.site));
}

inline bool keeps(const DropoutKey& key, const DropoutRow& at, std::int64_t column) {
  const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t hash = counter_hash(draws_of(key), u(at.sample), u(at.row), u(column));
  return to_unit_interval(hash) >= key.probability;
}

/// 1 / (1 - p), in the field with p rounded to hundredths. Precondition: p <= 0.99.
template <class T>
T keep_scale(const DropoutKey& key) {
  if constexpr (Number<T>::exact) {
    return Number<T>::ratio(100, 100 - std::lround(100.0 * key.probability));
  } else {
    return static_cast<T>(1.0 / (1.0 - key.probability));
  }
}

/// Rows of a hidden tensor are (position, sample).
struct HiddenElements {
  RowPlacement rows;

  DropoutRow row(std::int64_t r) const {
    return {.sample = rows.sample(r), .row = rows.position(r)};
  }
  bool kept(const DropoutKey& key, std::int64_t r, std::int64_t c) const {
    return keeps(key, row(r), c);
  }
};

/// Rows of attention probabilities are (sample, head, query), columns keys.
struct AttentionElements {
  std::int64_t s = 0, a = 0;                      // this rank's sequence and heads
  std::int64_t first_sample = 0, first_head = 0;  // global numbers

  DropoutRow row(std::int64_t r) const {
    const std::int64_t query = r % s;
    const std::int64_t head = first_head + (r / s) % a;
    return {.sample = first_sample + r / (s * a), .row = head * s + query};
  }
  bool kept(const DropoutKey& key, std::int64_t r, std::int64_t c) const {
    return keeps(key, row(r), c);
  }
};

/// x (rows, columns) -> y, mask of 0 and 1
template <class T, class Mask = T>
struct DropoutForward {
  std::int64_t rows, columns;
  const T* x;
  T* y;  // may be x
  Mask* mask;
};

template <class T, class Mask = T, class Elements>
void dropout_fwd(const DropoutKey& key, const Elements& elements,
                 const DropoutForward<T, Mask>& o) {
  const T scale = keep_scale<T>(key);
  for (std::int64_t r = 0; r < o.rows; ++r) {
    for (std::int64_t c = 0; c < o.columns; ++c) {
      const std::int64_t i = r * o.columns + c;
      const bool kept = elements.kept(key, r, c);
      o.mask[i] = to_element<Mask>(kept ? 1 : 0);
      o.y[i] = kept ? o.x[i] * scale : T{};
    }
  }
}

/// dy (n), mask (n) -> dx (n), may be dy
template <class T, class Mask>
void dropout_bwd(const DropoutKey& key, std::int64_t n, const T* dy, const Mask* mask, T* dx) {
  const T scale = keep_scale<T>(key);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = mask[i] == Mask{} ? T{} : dy[i] * scale;
}

/// y = dropout(x + bias) + residual: x, residual, y, mask (t, h); bias (h) may be null.
template <class T, class Mask = T>
struct DropoutAdd {
  std::int64_t t, h;
  const T* x;
  const T* residual;
  const T* bias;
  T* y;  // may be x or residual
  Mask* mask;
};

template <class T, class Mask = T>
void dropout_add(const DropoutKey& key, const HiddenElements& elements,
                 const DropoutAdd<T, Mask>& o) {
  const T scale = keep_scale<T>(key);
  for (std::int64_t r = 0; r < o.t; ++r) {
    for (std::int64_t c = 0; c < o.h; ++c) {
      const std::int64_t i = r * o.h + c;
      const bool kept = elements.kept(key, r, c);
      const T x = o.bias ? o.x[i] + o.bias[c] : o.x[i];
      o.mask[i] = to_element<Mask>(kept ? 1 : 0);
      o.y[i] = (kept ? x * scale : T{}) + o.residual[i];
    }
  }
}

}  // namespace windtunnel::reference
