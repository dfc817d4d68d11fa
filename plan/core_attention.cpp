#include "plan/elementwise.h"
#include "plan/transformer_layer.h"

namespace windtunnel {

// Core attention: softmax(q k^T / sqrt(d)) v, as one flash kernel or as the unfused kernels that
// keep the (micro a, s, s) tensors. Five such bytes per score are kept with dropout: probabilities,
// mask, dropped probabilities (Korthikanti et al. 2022, 2205.05198, section 4).

namespace {

std::uint16_t attention_attr(const RoleDraft& d) {
  std::uint16_t attr = kCausal;
  if (d.model().position == PositionKind::alibi) attr |= kAlibi;
  return attr;
}

/// The fused softmax kernel takes 16 < s <= 4096 keys and whole groups of four (sample, head) rows;
/// other shapes fall back to PyTorch's softmax (NVIDIA/Megatron-LM model/fused_softmax.py,
/// is_kernel_available).
bool fused_softmax_runs(const RoleDraft& d, const LayerSizes& z) {
  if (d.plan().attention_kernel == AttentionKernel::torch) return false;
  return z.sequence > 16 && z.sequence <= 4096 && z.sequence % 4 == 0 &&
         (z.micro * z.heads) % 4 == 0;
}

std::uint8_t softmax_variant(const RoleDraft& d, const LayerSizes& z) {
  return static_cast<std::uint8_t>(fused_softmax_runs(d, z) ? d.plan().attention_kernel
                                                            : AttentionKernel::torch);
}

}  // namespace

void TransformerLayer::forward_core_attention() {
  if (d_.plan().attention == AttentionKind::flash) {
    forward_flash();
  } else {
    forward_unfused();
  }
}

void TransformerLayer::forward_flash() {
  const SlotId source = t_.qkv_copy != kNone ? t_.qkv_copy : t_.qkv;
  t_.context = d_.tensor("context", z_.rows * z_.query, z_.act);
  t_.lse = d_.tensor("lse", z_.rows * z_.heads, Dtype::fp32);
  std::uint16_t attr = attention_attr(d_);
  if (d_.model().dropout) attr |= kAttentionDropout;
  d_.kernel({.kernel = Kernel::flash_fwd,
             .dims = {z_.micro, z_.sequence, z_.heads, z_.kv_heads, z_.head_dim},
             .attr = attr,
             .module = Module::core_attention,
             .variant = static_cast<std::uint8_t>(d_.plan().attention_kernel)},
            {source}, {t_.context, t_.lse});
  if (const int copies = d_.rules().attention_copies; copies > 0) {
    t_.attention_copies = d_.keep("attention_copies", copies * z_.rows * z_.query, z_.act);
  }
  if (d_.rules().attention_host_sync) d_.wait_on_host("sequence_lengths");
}

void TransformerLayer::forward_unfused() {
  const SlotId source = t_.qkv_copy != kNone ? t_.qkv_copy : t_.qkv;
  const std::array<std::int64_t, 6> dims{z_.micro, z_.sequence, z_.heads, z_.kv_heads, z_.head_dim};
  const std::uint8_t variant = static_cast<std::uint8_t>(d_.plan().attention_kernel);
  const std::uint16_t fused = fused_softmax_runs(d_, z_) ? kFused : kAttrNone;
  // The fused kernel skips the masked half of what it reads.
  const std::int64_t half_scores = z_.scores * bits_of(z_.act) / 16;
  const SlotId scores = d_.tensor("scores", z_.scores, z_.act);
  d_.kernel({.kernel = Kernel::scores_fwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant},
            {source}, {scores});
  t_.probs = d_.tensor("probs", z_.scores, z_.act);
  d_.kernel({.kernel = Kernel::softmax_fwd,
             .dims = {z_.micro, z_.sequence, z_.heads},
             .attr = static_cast<std::uint16_t>(attention_attr(d_) | fused),
             .module = Module::core_attention,
             .variant = softmax_variant(d_, z_),
             .launches = d_.rules().kernels.softmax_forward,
             .extra_bytes = fused != kAttrNone ? -half_scores : 0},
            {scores}, {t_.probs});
  if (fused == kAttrNone) d_.keep("masked_scores", z_.scores, z_.act);  // PyTorch masks into a copy
  t_.dropped = t_.probs;
  if (d_.model().dropout) {
    t_.dropped = d_.tensor("dropped", z_.scores, z_.act);
    t_.probs_mask = d_.tensor("probs_mask", z_.scores, Dtype::uint8);
    d_.kernel({.kernel = Kernel::dropout_fwd,
               .dims = {z_.micro * z_.heads * z_.sequence, z_.sequence, 0, z_.micro, z_.sequence,
                        z_.heads},
               .attr = kAttentionDropout,
               .module = Module::core_attention},
              {t_.probs}, {t_.dropped, t_.probs_mask});
  }
  t_.context = d_.tensor("context", z_.rows * z_.query, z_.act);
  d_.kernel({.kernel = Kernel::context_fwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant},
            {t_.dropped, source}, {t_.context});
}

SlotId TransformerLayer::backward_core_attention(SlotId dcontext) {
  const SlotId source = t_.qkv_copy != kNone ? t_.qkv_copy : t_.qkv;
  SlotId dqkv = kNone;
  if (d_.plan().attention == AttentionKind::flash) {
    dqkv = d_.tensor("dqkv", z_.rows * z_.qkv, z_.act);
    std::uint16_t attr = attention_attr(d_);
    if (d_.model().dropout) attr |= kAttentionDropout;
    d_.kernel({.kernel = Kernel::flash_bwd,
               .dims = {z_.micro, z_.sequence, z_.heads, z_.kv_heads, z_.head_dim},
               .attr = attr,
               .module = Module::core_attention,
               .variant = static_cast<std::uint8_t>(d_.plan().attention_kernel)},
              {dcontext, source, t_.context, t_.lse}, {dqkv});
    if (t_.attention_copies != kNone) d_.hold(t_.attention_copies);
  } else {
    dqkv = backward_unfused(dcontext);
  }
  if (d_.model().position == PositionKind::rope) {
    d_.kernel({.kernel = Kernel::rope_bwd,
               .dims = {z_.rows, z_.heads, z_.kv_heads, z_.head_dim, z_.micro},
               .module = Module::attention,
               .launches = d_.rules().kernels.rope_backward,
               .extra_bytes = rope_traffic(d_, z_)},
              {dqkv}, {dqkv});
    if (t_.rope_tables != kNone) d_.hold(t_.rope_tables);
  }
  if (!d_.rules().qkv_copies) return dqkv;
  // Back through the same copies: k and v joined, then q, k and v, then into the linear's layout.
  const SlotId copy = d_.tensor("dqkv_copy", d_.slot(dqkv).elements, z_.act);
  d_.kernel({.kernel = Kernel::copy,
             .dims = {d_.slot(dqkv).elements},
             .module = Module::attention,
             .launches = 3,
             .extra_bytes = 2 * z_.qkv_bytes() + 2 * z_.key_value_bytes()},
            {dqkv}, {copy});
  return copy;
}

SlotId TransformerLayer::backward_unfused(SlotId dcontext) {
  const SlotId source = t_.qkv_copy != kNone ? t_.qkv_copy : t_.qkv;
  const std::array<std::int64_t, 6> dims{z_.micro, z_.sequence, z_.heads, z_.kv_heads, z_.head_dim};
  const std::uint8_t variant = static_cast<std::uint8_t>(d_.plan().attention_kernel);
  const std::uint16_t fused = fused_softmax_runs(d_, z_) ? kFused : kAttrNone;
  // The fused kernel skips the masked half of what it reads.
  const std::int64_t half_scores = z_.scores * bits_of(z_.act) / 16;
  const SlotId dqkv = d_.tensor("dqkv", z_.rows * z_.qkv, z_.act);
  SlotId dprobs = d_.tensor("dprobs", z_.scores, z_.act);
  d_.kernel({.kernel = Kernel::context_bwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant,
             .launches = 2},
            {dcontext, t_.dropped, source}, {dprobs, dqkv});
  if (d_.model().dropout) {
    const SlotId before_dropout = d_.tensor("dprobs", z_.scores, z_.act);
    d_.kernel({.kernel = Kernel::dropout_bwd,
               .dims = {z_.micro * z_.heads * z_.sequence, z_.sequence, 0, z_.micro, z_.sequence,
                        z_.heads},
               .attr = kAttentionDropout,
               .module = Module::core_attention},
              {dprobs, t_.probs_mask}, {before_dropout});
    dprobs = before_dropout;
  }
  // The fused kernel overwrites its gradient; PyTorch's makes another tensor.
  const SlotId dscores = fused != kAttrNone ? dprobs : d_.tensor("dscores", z_.scores, z_.act);
  d_.kernel({.kernel = Kernel::softmax_bwd,
             .dims = {z_.micro, z_.sequence, z_.heads},
             .attr = static_cast<std::uint16_t>(kCausal | fused),
             .module = Module::core_attention,
             .variant = softmax_variant(d_, z_),
             .launches = d_.rules().kernels.softmax_backward,
             .extra_bytes = fused != kAttrNone ? -2 * half_scores : 0},
            {dprobs, t_.probs}, {dscores});
  d_.kernel({.kernel = Kernel::scores_bwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant,
             .launches = 2},
            {dscores, source}, {dqkv});
  return dqkv;
}

}  // namespace windtunnel
