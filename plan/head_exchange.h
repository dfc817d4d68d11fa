#pragma once
// Sequence for heads (DeepSpeed-Ulysses, arXiv 2309.14509): before the core attention every rank of
// a group gets all rows of its part of the heads, after it its own rows of all heads.
//
// q, k and v travel apart, as in TransformerEngine (context_parallel.py,
// flash_attn_a2a_communicate): a copy groups the columns by receiver, an all-to-all sends them, a
// copy puts the members' rows in the order of the sequence; and the other way.

#include "plan/layer_sizes.h"

namespace windtunnel {

/// qkv (T, W) -> (n T, W/n), n the ranks that exchange; W = (a+k)d + k dv.
SlotId gather_sequence_of_qkv(RoleDraft& draft, const LayerSizes& z, SlotId qkv);
/// (n T, W/n) -> (T, W)
SlotId scatter_sequence_of_qkv(RoleDraft& draft, const LayerSizes& z, SlotId qkv);

/// context (n T, a dv/n) -> (T, a dv)
SlotId scatter_sequence_of_context(RoleDraft& draft, const LayerSizes& z, SlotId context);
/// (T, a dv) -> (n T, a dv/n)
SlotId gather_sequence_of_context(RoleDraft& draft, const LayerSizes& z, SlotId context);

}  // namespace windtunnel
