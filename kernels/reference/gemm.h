#pragma once
// Matrix products of a linear layer C (m, n) = A (m, k) W (n, k)^T + bias (n), and its gradients.

#include <cstdint>

#include "kernels/reference/number.h"

namespace windtunnel::reference {

struct GemmDims {
  std::int64_t m = 0, n = 0, k = 0;
  /// gemm_dgrad may read n of the `row` columns of dc, from `offset` on; row 0: dc has n columns.
  std::int64_t offset = 0, row = 0;
};

enum class Update : std::uint8_t { overwrite, accumulate };

/// bias may be null.
template <class T>
void gemm_fwd(const GemmDims& dims, const T* a, const T* w, const T* bias, T* c) {
  for (std::int64_t i = 0; i < dims.m; ++i) {
    for (std::int64_t j = 0; j < dims.n; ++j) {
      Dot<T> dot;
      for (std::int64_t l = 0; l < dims.k; ++l) dot.add(a[i * dims.k + l], w[j * dims.k + l]);
      c[i * dims.n + j] = bias ? dot.value() + bias[j] : dot.value();
    }
  }
}

/// da (m, k) = dc (m, offset .. offset + n) w (n, k)
template <class T>
void gemm_dgrad(const GemmDims& dims, const T* dc, const T* w, T* da) {
  const std::int64_t row = dims.row > 0 ? dims.row : dims.n;
  for (std::int64_t i = 0; i < dims.m; ++i) {
    for (std::int64_t l = 0; l < dims.k; ++l) {
      Dot<T> dot;
      for (std::int64_t j = 0; j < dims.n; ++j)
        dot.add(dc[i * row + dims.offset + j], w[j * dims.k + l]);
      da[i * dims.k + l] = dot.value();
    }
  }
}

/// dw (n, k) = or += dc (m, n)^T a (m, k)
template <class T>
void gemm_wgrad(const GemmDims& dims, Update update, const T* dc, const T* a, T* dw) {
  for (std::int64_t j = 0; j < dims.n; ++j) {
    for (std::int64_t l = 0; l < dims.k; ++l) {
      Dot<T> dot;
      for (std::int64_t i = 0; i < dims.m; ++i) dot.add(dc[i * dims.n + j], a[i * dims.k + l]);
      T& out = dw[j * dims.k + l];
      out = update == Update::accumulate ? out + dot.value() : dot.value();
    }
  }
}

/// dbias (n) += column sums of dc (m, n)
template <class T>
void bias_bwd(const GemmDims& dims, const T* dc, T* dbias) {
  for (std::int64_t i = 0; i < dims.m; ++i) {
    for (std::int64_t j = 0; j < dims.n; ++j) dbias[j] += dc[i * dims.n + j];
  }
}

}  // namespace windtunnel::reference
