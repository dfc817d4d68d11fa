#pragma once
// Sums, copies and scales: the plain loops of `kernels/reference/elementwise.h`, which compilers
// vectorise and which are bound by memory, so there is nothing to write a second time.
//
// Bytes, of n elements of T: zero n, copy and scale 2 n, accumulate and add 3 n; residual_add 3 t
// h. At most 1 FLOP an element, residual_add with bias 2.

#include "kernels/reference/elementwise.h"

namespace windtunnel::cpu {

using reference::accumulate;
using reference::add;
using reference::copy;
using reference::residual_add;
using reference::ResidualAdd;
using reference::scale;
using reference::zero;

}  // namespace windtunnel::cpu
