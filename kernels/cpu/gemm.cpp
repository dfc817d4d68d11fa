#include "kernels/cpu/gemm.h"

#include <algorithm>

#include "kernels/cpu/product.h"

namespace windtunnel::cpu {

template <class T>
void gemm_fwd(const GemmDims& dims, const T* a, const T* w, const T* bias, T* c) {
  const auto [m, n, k, offset, row] = dims;
  if (bias) {
    for (std::int64_t i = 0; i < m; ++i) std::copy(bias, bias + n, c + i * n);
  }
  product_nt<T>({.a = {a, m, k, k},
                 .b = {w, n, k, k},
                 .c = {c, m, n, n},
                 .update = bias ? Update::accumulate : Update::overwrite});
}

template <class T>
void gemm_dgrad(const GemmDims& dims, const T* dc, const T* w, T* da) {
  const auto [m, n, k, offset, row] = dims;
  product_nn<T>(
      {.a = {dc + offset, m, n, row > 0 ? row : n}, .b = {w, n, k, k}, .c = {da, m, k, k}});
}

template <class T>
void gemm_wgrad(const GemmDims& dims, Update update, const T* dc, const T* a, T* dw) {
  const auto [m, n, k, offset, row] = dims;
  product_tn<T>({.a = {dc, m, n, n}, .b = {a, m, k, k}, .c = {dw, n, k, k}, .update = update});
}

template void gemm_fwd(const GemmDims&, const float*, const float*, const float*, float*);
template void gemm_fwd(const GemmDims&, const double*, const double*, const double*, double*);
template void gemm_dgrad(const GemmDims&, const float*, const float*, float*);
template void gemm_dgrad(const GemmDims&, const double*, const double*, double*);
template void gemm_wgrad(const GemmDims&, Update, const float*, const float*, float*);
template void gemm_wgrad(const GemmDims&, Update, const double*, const double*, double*);

}  // namespace windtunnel::cpu
