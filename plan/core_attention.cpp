#include "plan/block_attention.h"
#include "plan/elementwise.h"
#include "plan/head_exchange.h"
#include "plan/transformer_layer.h"

namespace windtunnel {

// Core attention: softmax(q k^T / sqrt(d)) v, as one flash kernel or as the unfused kernels that
// keep the (micro a, s, s) tensors. Five such bytes per score are kept with dropout: probabilities,
// mask, dropped probabilities (Korthikanti et al. 2022, 2205.05198, section 4).

namespace {

/// Which heads a rank attends with depends on its cp place where ranks exchange heads.
std::uint16_t head_attr(const RoleDraft& d) {
  return d.plan().cp_heads > 1 ? kHeadShard : kAttrNone;
}

std::uint16_t attention_attr(const RoleDraft& d) {
  std::uint16_t attr = kCausal;
  if (d.model().position == PositionKind::alibi) attr |= kAlibi;
  return attr | head_attr(d);
}

KernelSpec flash_spec(const RoleDraft& d, const LayerSizes& z, std::int64_t window, Kernel kernel) {
  std::uint16_t attr = attention_attr(d);
  if (d.model().dropout) attr |= kAttentionDropout;
  return {.kernel = kernel,
          .dims = {z.micro, z.sequence, z.heads, z.kv_heads, z.head_dim,
                   z.value_dim == z.head_dim ? 0 : z.value_dim, window},
          .attr = attr,
          .module = Module::core_attention,
          .variant = static_cast<std::uint8_t>(d.plan().attention_kernel)};
}

/// The fused softmax kernel takes 16 < s <= 4096 keys and whole groups of four (sample, head) rows,
/// of a causal mask; other shapes and masks fall back to PyTorch's softmax (NVIDIA/Megatron-LM
/// model/fused_softmax.py, is_kernel_available).
bool fused_softmax_runs(const RoleDraft& d, const LayerSizes& z, std::int64_t window) {
  if (d.plan().attention_kernel == AttentionKernel::torch || window > 0) return false;
  return z.sequence > 16 && z.sequence <= 4096 && z.sequence % 4 == 0 &&
         (z.micro * z.heads) % 4 == 0;
}

std::uint8_t softmax_variant(const RoleDraft& d, const LayerSizes& z, std::int64_t window) {
  return static_cast<std::uint8_t>(fused_softmax_runs(d, z, window) ? d.plan().attention_kernel
                                                                    : AttentionKernel::torch);
}

}  // namespace

void TransformerLayer::forward_core_attention() {
  t_.core_qkv = t_.qkv_copy != kNone ? t_.qkv_copy : t_.qkv;
  const bool exchanges = d_.plan().cp_heads > 1;
  if (exchanges) t_.core_qkv = gather_sequence_of_qkv(d_, z_, t_.core_qkv);
  forward_core();
  t_.context = exchanges ? scatter_sequence_of_context(d_, z_, t_.core_context) : t_.core_context;
  if (const int copies = d_.rules().attention_copies; copies > 0) {
    t_.attention_copies = d_.keep("attention_copies", copies * z_.rows * z_.query, z_.act);
  }
  const bool flash = d_.plan().attention == AttentionKind::flash;
  if (flash && d_.rules().attention_host_sync) d_.wait_on_host("sequence_lengths");
}

void TransformerLayer::forward_core() {
  if (d_.plan().attention == AttentionKind::unfused) return forward_unfused();
  const bool whole = d_.plan().cp == d_.plan().cp_heads;
  if (whole) return forward_flash();
  const bool gathers = d_.plan().cp_kind == CpKind::all_gather;
  const BlockAttention out =
      gathers ? gathered_forward(d_, core_, t_.core_qkv) : ring_forward(d_, core_, t_.core_qkv);
  t_.core_context = out.context;
  t_.lse = out.lse;
}

void TransformerLayer::forward_flash() {
  t_.core_context = d_.tensor("context", core_.rows * core_.query, core_.act);
  t_.lse = d_.tensor("lse", core_.rows * core_.heads, Dtype::fp32);
  d_.kernel(flash_spec(d_, core_, window_, Kernel::flash_fwd), {t_.core_qkv},
            {t_.core_context, t_.lse});
}

void TransformerLayer::forward_unfused() {
  const ShapeDims dims{core_.micro, core_.sequence, core_.heads, core_.kv_heads, core_.head_dim};
  const std::uint8_t variant = static_cast<std::uint8_t>(d_.plan().attention_kernel);
  const std::uint16_t fused = fused_softmax_runs(d_, core_, window_) ? kFused : kAttrNone;
  // The fused kernel skips the masked half of what it reads.
  const std::int64_t half_scores = core_.scores * bits_of(core_.act) / 16;
  const SlotId scores = d_.tensor("scores", core_.scores, core_.act);
  d_.kernel({.kernel = Kernel::scores_fwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant},
            {t_.core_qkv}, {scores});
  t_.probs = d_.tensor("probs", core_.scores, core_.act);
  d_.kernel({.kernel = Kernel::softmax_fwd,
             .dims = {core_.micro, core_.sequence, core_.heads, window_},
             .attr = static_cast<std::uint16_t>(attention_attr(d_) | fused),
             .module = Module::core_attention,
             .variant = softmax_variant(d_, core_, window_),
             .launches = d_.rules().kernels.softmax_forward,
             .extra_bytes = fused != kAttrNone ? -half_scores : 0},
            {scores}, {t_.probs});
  if (fused == kAttrNone)
    d_.keep("masked_scores", core_.scores, core_.act);  // PyTorch masks into a copy
  t_.dropped = t_.probs;
  if (d_.model().dropout) {
    t_.dropped = d_.tensor("dropped", core_.scores, core_.act);
    t_.probs_mask = d_.tensor("probs_mask", core_.scores, Dtype::uint8);
    d_.kernel({.kernel = Kernel::dropout_fwd,
               .dims = {core_.micro * core_.heads * core_.sequence, core_.sequence, 0, core_.micro,
                        core_.sequence, core_.heads},
               .attr = static_cast<std::uint16_t>(kAttentionDropout | head_attr(d_)),
               .module = Module::core_attention},
              {t_.probs}, {t_.dropped, t_.probs_mask});
  }
  t_.core_context = d_.tensor("context", core_.rows * core_.query, core_.act);
  d_.kernel({.kernel = Kernel::context_fwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant},
            {t_.dropped, t_.core_qkv}, {t_.core_context});
}

SlotId TransformerLayer::backward_core_attention(SlotId dcontext) {
  const bool exchanges = d_.plan().cp_heads > 1;
  if (exchanges) dcontext = gather_sequence_of_context(d_, z_, dcontext);
  SlotId dqkv = backward_core(dcontext);
  if (t_.attention_copies != kNone) d_.hold(t_.attention_copies);
  if (exchanges) dqkv = scatter_sequence_of_qkv(d_, z_, dqkv);
  if (latent_) return dqkv;  // rotated where its heads are made
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

SlotId TransformerLayer::backward_core(SlotId dcontext) {
  if (d_.plan().attention == AttentionKind::unfused) return backward_unfused(dcontext);
  if (d_.plan().cp > d_.plan().cp_heads) {
    const BlockAttentionGrad grad{.dcontext = dcontext,
                                  .qkv = t_.core_qkv,
                                  .of = {.context = t_.core_context, .lse = t_.lse}};
    return d_.plan().cp_kind == CpKind::all_gather ? gathered_backward(d_, core_, grad)
                                                   : ring_backward(d_, core_, grad);
  }
  const SlotId dqkv = d_.tensor("dqkv", core_.rows * core_.qkv, core_.act);
  d_.kernel(flash_spec(d_, core_, window_, Kernel::flash_bwd),
            {dcontext, t_.core_qkv, t_.core_context, t_.lse}, {dqkv});
  return dqkv;
}

SlotId TransformerLayer::backward_unfused(SlotId dcontext) {
  const ShapeDims dims{core_.micro, core_.sequence, core_.heads, core_.kv_heads, core_.head_dim};
  const std::uint8_t variant = static_cast<std::uint8_t>(d_.plan().attention_kernel);
  const std::uint16_t fused = fused_softmax_runs(d_, core_, window_) ? kFused : kAttrNone;
  // The fused kernel skips the masked half of what it reads.
  const std::int64_t half_scores = core_.scores * bits_of(core_.act) / 16;
  const SlotId dqkv = d_.tensor("dqkv", core_.rows * core_.qkv, core_.act);
  SlotId dprobs = d_.tensor("dprobs", core_.scores, core_.act);
  d_.kernel({.kernel = Kernel::context_bwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant,
             .launches = 2},
            {dcontext, t_.dropped, t_.core_qkv}, {dprobs, dqkv});
  if (d_.model().dropout) {
    const SlotId before_dropout = d_.tensor("dprobs", core_.scores, core_.act);
    d_.kernel({.kernel = Kernel::dropout_bwd,
               .dims = {core_.micro * core_.heads * core_.sequence, core_.sequence, 0, core_.micro,
                        core_.sequence, core_.heads},
               .attr = static_cast<std::uint16_t>(kAttentionDropout | head_attr(d_)),
               .module = Module::core_attention},
              {dprobs, t_.probs_mask}, {before_dropout});
    dprobs = before_dropout;
  }
  // The fused kernel overwrites its gradient; PyTorch's makes another tensor.
  const SlotId dscores =
      fused != kAttrNone ? dprobs : d_.tensor("dscores", core_.scores, core_.act);
  d_.kernel({.kernel = Kernel::softmax_bwd,
             .dims = {core_.micro, core_.sequence, core_.heads, window_},
             .attr = static_cast<std::uint16_t>(kCausal | fused),
             .module = Module::core_attention,
             .variant = softmax_variant(d_, core_, window_),
             .launches = d_.rules().kernels.softmax_backward,
             .extra_bytes = fused != kAttrNone ? -2 * half_scores : 0},
            {dprobs, t_.probs}, {dscores});
  d_.kernel({.kernel = Kernel::scores_bwd,
             .dims = dims,
             .module = Module::core_attention,
             .variant = variant,
             .launches = 2},
            {dscores, t_.core_qkv}, {dqkv});
  return dqkv;
}

}  // namespace windtunnel
