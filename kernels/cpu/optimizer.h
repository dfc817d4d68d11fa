#pragma once
// Gradient norm, clipping and the optimizers, for T float and double: the functions of
// `kernels/reference/optimizer.h`.
//
// sum_squares 2 n FLOP and n sizeof(T) bytes; adamw 15 n and 8 n sizeof(T); sgd 2 n and 4 n.

#include "kernels/reference/optimizer.h"

namespace windtunnel::cpu {

using reference::AdamwOperands;
using reference::clip_coefficient;
using reference::OptimizerConstants;
using reference::sgd;  // the plain loop
using reference::SgdOperands;

/// norm2 (1) += sum of g (n) squared, in double from 4096 elements to the next.
template <class T>
void sum_squares(std::int64_t n, const T* g, T* norm2);

/// `step` counts from 0.
template <class T>
void adamw(const OptimizerConstants& k, std::int64_t step, const AdamwOperands<T>& o);

}  // namespace windtunnel::cpu
