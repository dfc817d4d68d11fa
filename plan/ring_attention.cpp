#include "plan/block_kernels.h"

namespace windtunnel {

namespace {

/// Transfers around the ring, beside the compute stream or on it.
class Ring {
 public:
  explicit Ring(RoleDraft& d)
      : d_(d),
        comm_(d.comm(d.plan().cp_heads > 1 ? "cp_ring" : "cp")),
        stream_(d.plan().overlap_cp ? Stream::cp : Stream::compute) {}

  int ranks() const { return d_.plan().cp / d_.plan().cp_heads; }

  struct Hop {
    SlotId sent = kNone, received = kNone;
    std::uint32_t arrived = kNone;  // event
  };

  /// What the rank before sends while this one sends `x` to the next.
  Hop shift(SlotId x, std::string_view name) {
    Hop hop{.sent = x, .received = d_.tensor(name, d_.slot(x).elements, d_.slot(x).dtype)};
    d_.slot(hop.received).category = Category::comm_buffers;
    d_.order({.to = stream_, .event = "hop_ready"});
    d_.collective({.collective = Collective::ring_shift,
                   .reduce = ReduceOp::none,
                   .comm = comm_,
                   .stream = stream_,
                   .module = Module::core_attention},
                  x, hop.received, d_.slot(x).elements);
    if (stream_ != Stream::compute) {
      hop.arrived = d_.event("hop_arrived", false);
      d_.record(hop.arrived, stream_);
    }
    return hop;
  }

  /// Compute may read what was received from here on, and what was sent is given back.
  SlotId await(const Hop& hop) {
    if (hop.arrived != kNone) d_.wait(hop.arrived, Stream::compute, {hop.sent});
    return hop.received;
  }

 private:
  RoleDraft& d_;
  std::uint32_t comm_;
  Stream stream_;
};

BlockAttention output_of(RoleDraft& d, const LayerSizes& z, std::string_view name, Dtype dtype) {
  return {.context = d.tensor(name, z.rows * z.query, dtype),
          .lse = d.tensor("lse", z.rows * z.heads, Dtype::fp32)};
}

Dtype wide(const LayerSizes& z) {
  return bits_of(z.act) < 32 ? Dtype::fp32 : z.act;
}

void cast(RoleDraft& d, SlotId from, SlotId to) {
  d.kernel(
      {.kernel = Kernel::cast, .dims = {d.slot(from).elements}, .module = Module::core_attention},
      {from}, {to});
}

void merge(RoleDraft& d, const LayerSizes& z, const BlockAttention& part,
           const BlockAttention& sum) {
  d.kernel({.kernel = Kernel::merge_attention,
            .dims = {z.rows, z.heads, z.value_dim},
            .module = Module::core_attention},
           {part.context, part.lse}, {sum.context, sum.lse});
}

}  // namespace

BlockAttention ring_forward(RoleDraft& d, const LayerSizes& z, SlotId qkv) {
  Ring ring(d);
  const bool narrow = wide(z) != z.act;
  BlockAttention sum = output_of(d, z, narrow ? "context_sum" : "context", wide(z));
  SlotId kv = take_keys(d, z, qkv);
  for (int step = 0; step < ring.ranks(); ++step) {
    const bool sends = step + 1 < ring.ranks();
    const Ring::Hop hop = sends ? ring.shift(kv, "kv_received") : Ring::Hop{};
    const bool first = step == 0;
    BlockAttention part = sum;
    if (first && narrow) part.context = d.tensor("context_part", z.rows * z.query, z.act);
    if (!first) part = output_of(d, z, "context_part", z.act);
    block_forward(d, z, qkv, {.kv = kv, .step = step}, part);
    if (first && narrow) cast(d, part.context, sum.context);
    if (!first) merge(d, z, part, sum);
    if (sends) kv = ring.await(hop);
  }
  if (!narrow) return sum;
  const SlotId context = d.tensor("context", z.rows * z.query, z.act);
  cast(d, sum.context, context);
  return {.context = context, .lse = sum.lse};
}

SlotId ring_backward(RoleDraft& d, const LayerSizes& z, const BlockAttentionGrad& o) {
  Ring ring(d);
  const Dtype dtype = d.rules().ring_gradients_narrow ? z.act : wide(z);
  BlockGradients grads{.dq = d.tensor("dq", z.rows * (z.qkv - z.keys), dtype)};
  SlotId kv = take_keys(d, z, o.qkv);
  Ring::Hop sums;  // the gradients of this step's block, from the ranks before
  for (int step = 0; step < ring.ranks(); ++step) {
    const bool sends = step + 1 < ring.ranks();
    const Ring::Hop hop = sends ? ring.shift(kv, "kv_received") : Ring::Hop{};
    grads.dkv = d.tensor("dkv", d.slot(kv).elements, dtype);
    block_backward(d, z, o, {.kv = kv, .step = step}, grads);
    if (step > 0) {
      const SlotId sum = ring.await(sums);
      d.kernel({.kernel = Kernel::accumulate,
                .dims = {d.slot(sum).elements},
                .module = Module::core_attention},
               {grads.dkv}, {sum});
      grads.dkv = sum;
    }
    if (sends) kv = ring.await(hop);
    sums = ring.shift(grads.dkv, "dkv_received");
  }
  grads.dkv = ring.await(sums);
  return join_gradients(d, z, grads);
}

}  // namespace windtunnel
