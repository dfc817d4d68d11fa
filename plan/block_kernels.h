#pragma once
// The kernels of attention over blocks of keys and values, as ops.

#include "plan/block_attention.h"

namespace windtunnel {

/// Which keys and values: those of a step of the ring, or the whole sequence's.
struct KeyBlock {
  SlotId kv = kNone;  // (T', k (d + dv))
  int step = 0;
  bool whole = false;
};

/// Attends over `block` into `out` (T, a dv) and `lse` (T a).
void block_forward(RoleDraft& draft, const LayerSizes& z, SlotId qkv, const KeyBlock& block,
                   const BlockAttention& out);

struct BlockGradients {
  SlotId dq = kNone;   // (T, a d), added to after the first block
  SlotId dkv = kNone;  // (T', k (d + dv))
};
void block_backward(RoleDraft& draft, const LayerSizes& z, const BlockAttentionGrad& o,
                    const KeyBlock& block, const BlockGradients& grads);

/// Keys and values beside each other, the queries left out: (T, k (d + dv)).
SlotId take_keys(RoleDraft& draft, const LayerSizes& z, SlotId qkv);

/// dq (T, a d) and dkv (T, k (d + dv)) -> dqkv (T, (a+k)d + k dv), of the activations' type.
SlotId join_gradients(RoleDraft& draft, const LayerSizes& z, const BlockGradients& grads);

}  // namespace windtunnel
