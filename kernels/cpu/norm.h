#pragma once
// LayerNorm and RMSNorm, forward and backward, for T float and double: the functions of
// `kernels/reference/norm.h`, whose shapes they have.
//
// FLOP an element: layernorm 8 forward and 16 backward, rmsnorm 5 and 13. Bytes: forward reads and
// writes (t, h) once, backward reads dy and x and writes dx (t, h); a row's later passes are in the
// cache. Sums over a row are kept in T, in as many parts as a vector register holds.

#include "kernels/reference/norm.h"

namespace windtunnel::cpu {

using reference::kNormEpsilon;
using reference::NormBackward;
using reference::NormDims;
using reference::NormForward;

/// x (t, h), gamma, beta (h) -> y (t, h), stats (2, t): means, reciprocal deviations
template <class T>
void layernorm_fwd(const NormDims& dims, const NormForward<T>& o);

/// dy, x (t, h), gamma (h), stats (2, t) -> dx (t, h), dgamma (h) +=, dbeta (h) +=; dx may be dy;
/// without dgamma, dx alone
template <class T>
void layernorm_bwd(const NormDims& dims, const NormBackward<T>& o);

/// x (t, h), gamma (h) -> y (t, h), stats (t): reciprocal root mean squares
template <class T>
void rmsnorm_fwd(const NormDims& dims, const NormForward<T>& o);

/// dy, x (t, h), gamma (h), stats (t) -> dx (t, h), dgamma (h) +=, where it is there; dx may be dy
template <class T>
void rmsnorm_bwd(const NormDims& dims, const NormBackward<T>& o);

}  // namespace windtunnel::cpu
