#include "plan/block_kernels.h"

#include "plan/columns.h"

namespace windtunnel {

namespace {

KernelSpec block_spec(const RoleDraft& d, const LayerSizes& z, const KeyBlock& block) {
  std::uint16_t attr = block.whole ? kWholeKeys : kAttrNone;
  if (block.whole || block.step == 0) attr |= kCausal;
  if (d.model().dropout) attr |= kAttentionDropout;
  if (d.plan().cp_heads > 1) attr |= kHeadShard;
  const std::int64_t last =
      block.whole ? d.scenario.scenario.batch.sequence : std::int64_t{block.step};
  return {.dims = {z.micro, z.sequence, z.heads, z.kv_heads, z.head_dim, last,
                   z.value_dim == z.head_dim ? 0 : z.value_dim},
          .attr = attr,
          .module = Module::core_attention,
          .variant = static_cast<std::uint8_t>(d.plan().attention_kernel)};
}

}  // namespace

void block_forward(RoleDraft& d, const LayerSizes& z, SlotId qkv, const KeyBlock& block,
                   const BlockAttention& out) {
  KernelSpec spec = block_spec(d, z, block);
  spec.kernel = Kernel::flash_block_fwd;
  d.kernel(spec, {qkv, block.kv}, {out.context, out.lse});
}

void block_backward(RoleDraft& d, const LayerSizes& z, const BlockAttentionGrad& o,
                    const KeyBlock& block, const BlockGradients& grads) {
  KernelSpec spec = block_spec(d, z, block);
  spec.kernel = Kernel::flash_block_bwd;
  if (block.step == 0) spec.attr |= kOverwrite;
  d.kernel(spec, {o.dcontext, o.qkv, block.kv, o.of.context, o.of.lse}, {grads.dq, grads.dkv});
}

SlotId take_keys(RoleDraft& d, const LayerSizes& z, SlotId qkv) {
  return take_columns(d, qkv,
                      {.rows = z.rows,
                       .width = z.qkv,
                       .offset = z.qkv - z.keys,
                       .columns = z.keys,
                       .name = "kv",
                       .module = Module::core_attention});
}

SlotId join_gradients(RoleDraft& d, const LayerSizes& z, const BlockGradients& grads) {
  return join_columns(
      d, {grads.dq, grads.dkv},
      {.rows = z.rows, .width = z.qkv, .name = "dqkv", .module = Module::core_attention});
}

}  // namespace windtunnel
