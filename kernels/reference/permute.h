#pragma once
// Rows of tokens to rows of experts and back (kernels/reference/routing.h says which is which).

#include <algorithm>
#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

struct PermuteDims {
  std::int64_t t = 0, h = 0, k = 0, rows = 0;
};

/// Calls visit(choice, token, row) for every choice that has a row.
template <class Token, class Visit>
void for_each_row_in_use(const PermuteDims& d, const Token* rows, Visit visit) {
  for (std::int64_t i = 0; i < d.t * d.k; ++i) {
    const std::int64_t row = to_integer(rows[i]);
    if (row < d.rows) visit(i, i / d.k, row);
  }
}

/// x (t, h) -> y (rows, h); rows not in use are 0
template <class T, class Token>
void permute_fwd(const PermuteDims& d, const T* x, const Token* rows, T* y) {
  for (std::int64_t i = 0; i < d.rows * d.h; ++i) y[i] = T{};
  for_each_row_in_use(d, rows, [&](std::int64_t, std::int64_t token, std::int64_t row) {
    for (std::int64_t c = 0; c < d.h; ++c) y[row * d.h + c] = x[token * d.h + c];
  });
}

/// dy (rows, h) -> dx (t, h)
template <class T, class Token>
void permute_bwd(const PermuteDims& d, const T* dy, const Token* rows, T* dx) {
  for (std::int64_t i = 0; i < d.t * d.h; ++i) dx[i] = T{};
  for_each_row_in_use(d, rows, [&](std::int64_t, std::int64_t token, std::int64_t row) {
    for (std::int64_t c = 0; c < d.h; ++c) dx[token * d.h + c] += dy[row * d.h + c];
  });
}

template <class T, class Token>
struct UnpermuteForward {
  const T* y;         // (rows, h)
  const T* probs;     // (t, k)
  const Token* rows;  // (t, k)
  T* x;               // (t, h)
};

template <class T, class Token>
void unpermute_fwd(const PermuteDims& d, const UnpermuteForward<T, Token>& o) {
  for (std::int64_t i = 0; i < d.t * d.h; ++i) o.x[i] = T{};
  for_each_row_in_use(d, o.rows, [&](std::int64_t i, std::int64_t token, std::int64_t row) {
    for (std::int64_t c = 0; c < d.h; ++c) o.x[token * d.h + c] += o.probs[i] * o.y[row * d.h + c];
  });
}

template <class T, class Token>
struct UnpermuteBackward {
  const T* dx;        // (t, h)
  const T* y;         // (rows, h)
  const T* probs;     // (t, k)
  const Token* rows;  // (t, k)
  T* dy;              // (rows, h)
  T* dprobs;          // (t, k)
};

template <class T, class Token>
void unpermute_bwd(const PermuteDims& d, const UnpermuteBackward<T, Token>& o) {
  for (std::int64_t i = 0; i < d.rows * d.h; ++i) o.dy[i] = T{};
  for (std::int64_t i = 0; i < d.t * d.k; ++i) o.dprobs[i] = T{};
  for_each_row_in_use(d, o.rows, [&](std::int64_t i, std::int64_t token, std::int64_t row) {
    Dot<T> dot;
    for (std::int64_t c = 0; c < d.h; ++c) {
      o.dy[row * d.h + c] = o.probs[i] * o.dx[token * d.h + c];
      dot.add(o.dx[token * d.h + c], o.y[row * d.h + c]);
    }
    o.dprobs[i] = dot.value();
  });
}

/// probs (t, k) -> w (rows); rows not in use are 0
template <class T, class Token>
void spread_fwd(const PermuteDims& d, const T* probs, const Token* rows, T* w) {
  for (std::int64_t i = 0; i < d.rows; ++i) w[i] = T{};
  for_each_row_in_use(d, rows,
                      [&](std::int64_t i, std::int64_t, std::int64_t row) { w[row] = probs[i]; });
}

/// dw (rows) -> dprobs (t, k)
template <class T, class Token>
void spread_bwd(const PermuteDims& d, const T* dw, const Token* rows, T* dprobs) {
  for (std::int64_t i = 0; i < d.t * d.k; ++i) dprobs[i] = T{};
  for_each_row_in_use(d, rows,
                      [&](std::int64_t i, std::int64_t, std::int64_t row) { dprobs[i] = dw[row]; });
}

struct ChunkDims {
  std::int64_t a = 0, b = 0, n = 0;
};

/// x (a, b, n) -> y (b, a, n)
template <class T>
void swap_chunks(const ChunkDims& d, const T* x, T* y) {
  for (std::int64_t i = 0; i < d.a; ++i) {
    for (std::int64_t j = 0; j < d.b; ++j) {
      for (std::int64_t c = 0; c < d.n; ++c)
        y[(j * d.a + i) * d.n + c] = x[(i * d.b + j) * d.n + c];
    }
  }
}

struct GroupDims {
  std::int64_t groups = 0, rows = 0, to_rows = 0, n = 0;
};

/// x (groups, rows, n) -> y (groups, to_rows, n); rows it adds are 0
template <class T>
void pad_groups(const GroupDims& d, const T* x, T* y) {
  const std::int64_t from = d.rows * d.n, to = d.to_rows * d.n, both = std::min(from, to);
  for (std::int64_t g = 0; g < d.groups; ++g) {
    for (std::int64_t i = 0; i < to; ++i) y[g * to + i] = i < both ? x[g * from + i] : T{};
  }
}

}  // namespace windtunnel::reference
