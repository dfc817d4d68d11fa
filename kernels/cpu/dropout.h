#pragma once
// Dropout, for T float and double and masks of T or uint8: the functions of
// `kernels/reference/dropout.h` with the same draws, bit by bit.
//
// An element costs one mix64 (some 10 integer operations) and 1 FLOP, dropout_add 3. Bytes: x and y
// once, the mask once, dropout_add the residual too.

#include "kernels/reference/dropout.h"

namespace windtunnel::cpu {

using reference::AttentionElements;
using reference::DropoutAdd;
using reference::DropoutForward;
using reference::DropoutKey;
using reference::HiddenElements;

/// x (rows, columns) -> y, mask of 0 and 1; y may be x
template <class T, class Mask = T, class Elements>
void dropout_fwd(const DropoutKey& key, const Elements& elements, const DropoutForward<T, Mask>& o);

/// y = dropout(x + bias) + residual: (t, h), bias (h) may be null; y may be x or residual
template <class T, class Mask = T>
void dropout_add(const DropoutKey& key, const HiddenElements& elements,
                 const DropoutAdd<T, Mask>& o);

/// dy (n), mask (n) -> dx (n). The plain loop.
using reference::dropout_bwd;

}  // namespace windtunnel::cpu
