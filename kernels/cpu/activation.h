#pragma once
// The MLP's activations, for T float and double: `activation_fwd` and `activation_bwd` of
// `kernels/reference/elementwise.h`.
//
// All but relu2 are x sigmoid(z): z = x for swiglu's silu, and z = 2 sqrt(2/pi) (x + 0.044715 x^3)
// for gelu's tanh form, as (1 + tanh(z / 2)) / 2 = sigmoid(z). One exponential an element: about 25
// FLOP forward and 35 backward. Bytes: forward reads (t, f), or (t, 2f) when gated, and writes
// (t, f); backward reads (t, f) more and writes what x is.

#include "kernels/reference/elementwise.h"

namespace windtunnel::cpu {

using reference::ActivationDims;
using reference::ActivationKind;
using reference::is_gated;

/// x (t, f), or (t, 2f) = [gate | up] -> y (t, f)
template <class T>
void activation_fwd(const ActivationDims& dims, const T* x, T* y);

/// dy (t, f), x -> dx like x; dx may be x
template <class T>
void activation_bwd(const ActivationDims& dims, const T* dy, const T* x, T* dx);

}  // namespace windtunnel::cpu
