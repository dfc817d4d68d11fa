#pragma once
// Attention as separate kernels, for T float and double: the functions of
// `kernels/reference/attention.h`, whose shapes they have, with a matrix product per (sample,
// head).
//
// FLOP and bytes, with N = micro a s^2 scores: scores_fwd and context_fwd 2 N d FLOP each,
// context_bwd and scores_bwd 4 N d each; every kernel reads or writes the N scores once or twice
// (softmax_fwd: 2 N sizeof(T) bytes and about 20 N FLOP, softmax_bwd: 3 N sizeof(T), 4 N), which at
// s > 2 d is most of its traffic. Masked scores are computed and then overwritten, as the program's
// kernel does.

#include "kernels/reference/attention.h"

namespace windtunnel::cpu {

using reference::AttentionDims;
using reference::AttentionMask;
using reference::ContextBackward;

/// qkv (t, (a + 2k) d) -> scores (micro a, s, s)
template <class T>
void scores_fwd(const AttentionDims& dims, const T* qkv, T* scores);

/// scores -> probabilities, may be in place
template <class T>
void softmax_fwd(const AttentionDims& dims, const AttentionMask& mask, const T* scores,
                 T* probabilities);

/// probabilities, qkv -> out (t, a d)
template <class T>
void context_fwd(const AttentionDims& dims, const T* probabilities, const T* qkv, T* out);

/// dout, probabilities, qkv -> dprobabilities, dqkv [value columns]
template <class T>
void context_bwd(const AttentionDims& dims, const ContextBackward<T>& o);

/// dprobabilities, probabilities -> dscores, may be in place of dprobabilities
template <class T>
void softmax_bwd(const AttentionDims& dims, const AttentionMask& mask, const T* dprobabilities,
                 const T* probabilities, T* dscores);

/// dscores, qkv -> dqkv [query and key columns]
template <class T>
void scores_bwd(const AttentionDims& dims, const T* dscores, const T* qkv, T* dqkv);

}  // namespace windtunnel::cpu
