#include "plan/frameworks/framework.h"

namespace windtunnel {

// The stack of Hagemann et al. 2023 (2311.05610), published as Aleph-Alpha/scaling @01b9d21. Read
// there:
// - core/nn/mlp.py: SwiGLU is silu(x) * gate of two column-parallel layers, unfused; the input of
//   each passes its own copy-to-region, so backward reduces two gradients (linear/utils.py,
//   blocking, in the compute type).
// - core/nn/norm/rms_norm.py: an unfused norm multiplies its result by the weight, which keeps that
//   result; under sequence parallel it gathers, and the layers behind keep the gathered tensor.
// - core/nn/attention/attention.py: flash attention reads the longest sequence with .item() in
//   every call.
// - transformer/model/layers/lm_head.py, losses/cross_entropy.py: logits are gathered over tp, cast
//   to fp32, and the loss is PyTorch's.
// - core/optimizer: gradients stay in the compute type and are all-reduced; each data-parallel rank
//   copies its slice to fp32, steps, and gathers the weights.
FrameworkRules aleph_alpha_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "aleph-alpha";
  r.tp_backward_overlap = false;
  r.keep_gathered_input = true;
  r.fuse_wgrad_accumulation = false;
  r.half_grads = HalfGrads::transient;
  r.zero1_all_reduces = true;
  r.fp32_grad_copy_in_step = true;
  r.buckets_on_first_stage_only = false;
  r.split_gated_linear = true;
  r.attention_host_sync = true;
  r.eager_norm_keeps_normalized = true;
  // rms_norm.py in two-byte elements. Forward: pow 4, mean 2, scale 4, to fp32 6, back 6, times
  // weight 4; the operands themselves are 4. Backward: the weight's product and column sum 12, the
  // scale's two products 12 and row sum 4, casts 12, pow's derivative 6, the final sum 6; the
  // operands are 6.
  r.eager_norm = {
      .forward_bytes = 22, .backward_bytes = 46, .forward_launches = 8, .backward_launches = 14};
  r.swiglu_keeps_silu = true;
  // attention.py: the output is rearranged to (b n) s h and back, so the projection keeps another
  // copy. With one sample v stays a view of the fused qkv, which then lives on beside the rotated q
  // and k.
  r.attention_copies = s.batch.micro == 1 ? 3 : 1;
  // rotary.py, vector_gather: cosine and sine are gathered by position for q and for k.
  r.rope_tables = 4;
  r.logits_gathered = true;
  r.loss_gradient = LossGradient::through_log;
  // Operators of transformer/model/layers/layer.py and below in one layer, counted in the files
  // named above.
  r.host_layer = {.eager_ops = 70, .module_calls = 20, .backward_nodes = 60, .backward_calls = 6};
  r.host_ops_per_parameter = 6;
  r.time_sigma = 0.055;
  r.slowdown_sigma = 0.09;
  return r;
}

}  // namespace windtunnel
