#pragma once
// Rotary position embedding, for T float and double: `rope` of `kernels/reference/rope.h`. Angles,
// in double, are taken once a position instead of once a head.
//
// 6 FLOP for each pair of the t (a + k) d / 2, and a sine and a cosine for each of d / 2 pairs of a
// position; reads and writes the (a + k) d columns of each of the t rows.

#include "kernels/reference/rope.h"

namespace windtunnel::cpu {

using reference::RopeDims;
using reference::Rotation;
using reference::RowPlacement;

/// qkv (t, (a + 2k) d), in place: rotates the query and key heads.
template <class T>
void rope(const RopeDims& dims, const RowPlacement& rows, Rotation rotation, T* qkv);

}  // namespace windtunnel::cpu
