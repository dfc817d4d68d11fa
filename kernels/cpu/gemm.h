#pragma once
// Matrix products of a linear layer C (m, n) = A (m, k) W (n, k)^T + bias (n), and its gradients:
// the functions of `kernels/reference/gemm.h` over Eigen's products (`product.h`), for T float and
// double.
//
// Each of the three takes 2 m n k FLOP and moves (m k + n k + m n) sizeof(T) bytes at least;
// accumulating moves dw (n, k) once more.

#include "kernels/reference/gemm.h"

namespace windtunnel::cpu {

using reference::GemmDims;
using reference::Update;

/// a (m, k), w (n, k), bias (n) or null -> c (m, n)
template <class T>
void gemm_fwd(const GemmDims& dims, const T* a, const T* w, const T* bias, T* c);

/// dc (m, offset .. offset + n) of `row` columns, w (n, k) -> da (m, k)
template <class T>
void gemm_dgrad(const GemmDims& dims, const T* dc, const T* w, T* da);

/// dc (m, n), a (m, k) -> dw (n, k) = or +=
template <class T>
void gemm_wgrad(const GemmDims& dims, Update update, const T* dc, const T* a, T* dw);

/// dc (m, n) -> dbias (n) +=: m n FLOP and m n sizeof(T) bytes. The plain loop adds whole rows.
using reference::bias_bwd;

}  // namespace windtunnel::cpu
