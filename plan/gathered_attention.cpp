#include "plan/block_kernels.h"

namespace windtunnel {

namespace {

/// Keys and values of the whole sequence, in its order: (s micro, k (d + dv)).
SlotId gather_keys(RoleDraft& d, const LayerSizes& z, SlotId qkv) {
  const int ranks = d.plan().cp;
  const SlotId own = take_keys(d, z, qkv);
  const std::int64_t n = ranks * d.slot(own).elements;
  const SlotId parts = d.tensor("kv_parts", n, z.act, Category::comm_buffers);
  d.collective({.collective = Collective::all_gather,
                .reduce = ReduceOp::none,
                .comm = d.comm("cp"),
                .module = Module::core_attention},
               own, parts, n);
  const SlotId whole = d.tensor("kv_whole", n, z.act);
  d.kernel({.kernel = Kernel::rows_to_sequence,
            .dims = {z.rows, z.keys, ranks},
            .module = Module::core_attention},
           {parts}, {whole});
  return whole;
}

}  // namespace

BlockAttention gathered_forward(RoleDraft& d, const LayerSizes& z, SlotId qkv) {
  const SlotId kv = gather_keys(d, z, qkv);
  const BlockAttention out{.context = d.tensor("context", z.rows * z.query, z.act),
                           .lse = d.tensor("lse", z.rows * z.heads, Dtype::fp32)};
  block_forward(d, z, qkv, {.kv = kv, .whole = true}, out);
  return out;
}

SlotId gathered_backward(RoleDraft& d, const LayerSizes& z, const BlockAttentionGrad& o) {
  const int ranks = d.plan().cp;
  const SlotId kv = gather_keys(d, z, o.qkv);
  const std::int64_t n = d.slot(kv).elements, columns = z.keys;
  const SlotId whole = d.tensor("dkv_whole", n, z.act);
  const SlotId dq = d.tensor("dq", z.rows * (z.qkv - z.keys), z.act);
  block_backward(d, z, o, {.kv = kv, .whole = true}, {.dq = dq, .dkv = whole});
  const SlotId parts = d.tensor("dkv_parts", n, z.act, Category::comm_buffers);
  d.kernel({.kernel = Kernel::sequence_to_rows,
            .dims = {z.rows, columns, columns, 0, ranks},
            .module = Module::core_attention},
           {whole}, {parts});
  const SlotId own = d.tensor("dkv", n / ranks, z.act);
  d.collective({.collective = Collective::reduce_scatter,
                .comm = d.comm("cp"),
                .module = Module::core_attention},
               parts, own, n);
  return join_gradients(d, z, {.dq = dq, .dkv = own});
}

}  // namespace windtunnel
