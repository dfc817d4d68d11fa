#pragma once
// Vocabulary-parallel cross entropy, for T float and double and labels of T or int64: the functions
// of `kernels/reference/loss.h`, whose shapes they have.
//
// With N = t v blocks logits: ce_max N FLOP and N sizeof(T) bytes; ce_partial about 20 N FLOP (an
// exponential) and 2 N sizeof(T); ce_bwd N and 2 N sizeof(T). Sums of exponentials are kept in
// double from 1024 columns to the next.

#include "kernels/reference/loss.h"

namespace windtunnel::cpu {

using reference::LossDims;
using reference::LossPartial;

/// logits (t, v) -> maxima (t); a rank with padding only gives the lowest number.
template <class T>
void ce_max(const LossDims& dims, const T* logits, T* maxima);

/// logits (t, v), labels, maxima (t) -> probs (t, v), target, sum (t); probs may be logits
template <class T, class Label = T>
void ce_partial(const LossDims& dims, const LossPartial<T, Label>& o);

/// target (t), sum (t) -> loss (1) +=: a logarithm a row. The plain loop.
using reference::ce_loss;

/// probs (t, v), sum (t), labels (t) -> dlogits (t, v), may be probs
template <class T, class Label>
void ce_bwd(const LossDims& dims, const T* probs, const T* sum, const Label* labels, T* dlogits);

}  // namespace windtunnel::cpu
