#pragma once
// Core attention of a rank whose keys and values are on other ranks too: around a ring, or gathered
// before (docs/context_parallel.md).
//
// Ring (zhuzilin/ring-flash-attention zigzag_ring_flash_attn.py; TransformerEngine
// attention/dot_product_attention/context_parallel.py, AttnFuncWithCPAndKVP2P): in step j the keys
// and values of the rank j places before are attended while the next ones are on their way; partial
// outputs are merged by log(sum(exp)). Backward sends keys and values around again, behind them the
// gradients that were added up for them, and these one hop further: home.
//
// Gathered (Llama 3, arXiv 2407.21783 section 3.3.2; AttnFuncWithCPAndKVAllGather): backward
// gathers again and reduce-scatters the gradients.

#include "plan/layer_sizes.h"

namespace windtunnel {

struct BlockAttention {
  SlotId context = kNone;  // (T, a dv)
  SlotId lse = kNone;      // (T a), fp32
};

struct BlockAttentionGrad {
  SlotId dcontext = kNone;  // (T, a dv)
  SlotId qkv = kNone;       // (T, (a+k)d + k dv)
  BlockAttention of;
};

/// `z`: sizes of the core, after an exchange of heads. `qkv` (T, (a+k)d + k dv); dv is d but in
/// latent attention, whose keys, rotary part and all, and values travel in one tensor
/// (AttnFuncWithCPAndKVP2P flattens and joins them where their widths differ).
BlockAttention ring_forward(RoleDraft& draft, const LayerSizes& z, SlotId qkv);
SlotId ring_backward(RoleDraft& draft, const LayerSizes& z, const BlockAttentionGrad& o);

BlockAttention gathered_forward(RoleDraft& draft, const LayerSizes& z, SlotId qkv);
SlotId gathered_backward(RoleDraft& draft, const LayerSizes& z, const BlockAttentionGrad& o);

}  // namespace windtunnel
