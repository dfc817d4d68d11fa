#pragma once
// Fused attention, for T float and double: the functions of `kernels/reference/flash.h` in tiles of
// queries x keys that stay in the first-level cache and on the stack (48 KiB each, one in the
// forward and two in the backward), with the softmax carried along from tile to tile (Dao et al.
// 2022, arXiv 2205.14135, algorithms 1 and 4; Milakov and Gimelshein 2018, arXiv 1805.02867).
//
// FLOP: forward 4 micro a s^2 d, backward 10 micro a s^2 d, half of both when causal, since tiles
// that no query sees are skipped. Bytes: qkv and out once, keys and values once more for every
// `kFlashQueries` queries, from a cache as far as one head's (s, 2d) fit.

#include "kernels/reference/flash_block.h"

namespace windtunnel::cpu {

using reference::AttentionBlock;
using reference::AttentionDims;
using reference::FlashBackward;
using reference::FlashBlockBackward;
using reference::FlashBlockForward;
using reference::FlashDropout;
using reference::FlashOptions;

constexpr std::int64_t kFlashQueries = 64;

/// qkv (t, (a + 2k) d) -> out (t, a d), lse (t a): (row, head)
template <class T>
void flash_fwd(const AttentionDims& dims, const FlashOptions& options, const T* qkv, T* out,
               T* lse);

/// dout, qkv, out, lse -> dqkv
template <class T>
void flash_bwd(const AttentionDims& dims, const FlashOptions& options, const FlashBackward<T>& o);

/// Of queries over keys from elsewhere (`kernels/reference/flash_block.h`), without ALiBi. Tiles
/// beyond the last key that their queries see are skipped: half of a block of another rank.
template <class T>
void flash_block_fwd(const AttentionBlock& block, const FlashOptions& options,
                     const FlashBlockForward<T>& o);

template <class T>
void flash_block_bwd(const AttentionBlock& block, const FlashOptions& options,
                     const FlashBlockBackward<T>& o);

}  // namespace windtunnel::cpu
