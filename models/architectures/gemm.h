#pragma once
// The accounting of a matrix product (M, K) x (K, N) -> (M, N).
//
// Forward is 2 M K N FLOPs: one multiply and one add per term. Its backward is two products of the
// same size, the input gradient (M, N) x (N, K) and the weight gradient (K, M) x (M, N). The least
// traffic to device memory reads both inputs and writes the result once.

#include <cstdint>

#include "core/dtype.h"
#include "core/units.h"

namespace windtunnel {

struct GemmShape {
  std::int64_t m = 0, k = 0, n = 0;
};

/// Backward FLOPs of a matrix product over its forward FLOPs: input and weight gradient.
constexpr double kGemmBackwardFactor = 2.0;

constexpr Flops gemm_flops(const GemmShape& g) {
  return {2.0 * static_cast<double>(g.m) * static_cast<double>(g.k) * static_cast<double>(g.n)};
}

/// Least device-memory traffic with every operand in `dtype`.
constexpr Bytes gemm_bytes(const GemmShape& g, Dtype dtype) {
  const double m = static_cast<double>(g.m), k = static_cast<double>(g.k),
               n = static_cast<double>(g.n);
  return {(m * k + k * n + m * n) * bits_of(dtype) / 8.0};
}

/// FLOP per byte of least traffic: above the device's peak over bandwidth it is compute bound.
constexpr double gemm_intensity(const GemmShape& g, Dtype dtype) {
  return gemm_flops(g).value / gemm_bytes(g, dtype).value;
}

}  // namespace windtunnel
