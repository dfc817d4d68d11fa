#include "plan/step_ends.h"

#include <algorithm>
#include <utility>

#include "plan/bucket_reduction.h"
#include "plan/host_optimizer.h"
#include "plan/liveness.h"
#include "plan/loss_scaling.h"

namespace windtunnel {

namespace {

/// Optimizer states are sharded and weights are not: these are gathered after the optimizer.
bool gathers_after_step(const RoleDraft& d) {
  return d.plan().shards_states() && !d.plan().shards_weights();
}

/// Optimizer states are created by the optimizer's first step (torch.optim.Adam, and Megatron-LM on
/// it).
bool taken_by_first_step(const Slot& slot) {
  return slot.category == Category::optimizer_states;
}

void gather_weights(RoleDraft& d, const Bucket& b, Stream stream) {
  if (b.ways == 1) return;
  d.collective({.collective = Collective::all_gather,
                .reduce = ReduceOp::none,
                .comm = d.comm(shard_comm(d, b)),
                .stream = stream,
                .module = Module::optimizer},
               b.weight_shard, b.weights, b.elements);
}

/// Replicated parameters whose gradient each tp rank holds for its own tokens only: one coalesced
/// sum. Gradients that are cut in backward were summed there.
void reduce_partial_gradients(RoleDraft& d, ChunkList& chunks) {
  if (d.plan().shards_grads() || d.plan().shards_weights()) return;
  std::vector<SlotId> grads;
  std::int64_t total = 0;
  for (const auto& chunk : chunks) {
    ChunkParameters& p = chunk->parameters();
    for (ParameterId id = 0; id < p.size(); ++id) {
      if (!p.request(id).partial_over_tp) continue;
      grads.push_back(p.slots(id).grad);
      total += d.slot(grads.back()).elements;
    }
  }
  if (grads.empty() || d.comm("tp") == kNone) return;
  const SlotId flat = d.tensor("partial_grads", total, d.plan().grads, Category::comm_buffers);
  std::vector<SlotId> parts;
  std::int64_t offset = 0;
  for (const SlotId grad : grads) {
    const std::int64_t n = d.slot(grad).elements;
    parts.push_back(d.view(flat, "partial_grad", offset, n));
    d.kernel({.kernel = Kernel::copy, .dims = {n}, .module = Module::optimizer}, {grad},
             {parts.back()});
    offset += n;
  }
  d.collective({.comm = d.comm("tp"), .module = Module::optimizer}, flat, flat, total);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    d.kernel(
        {.kernel = Kernel::copy, .dims = {d.slot(grads[i]).elements}, .module = Module::optimizer},
        {parts[i]}, {grads[i]});
  }
}

/// Of what the optimizer reads, between the two stages that hold the same parts of the model: both
/// go through these in the model's order.
void sum_over_copies(RoleDraft& d, ChunkList& chunks) {
  if (d.plan().model_copies() == 1) return;
  const std::uint32_t comm = d.comm(copies_comm(d.plan().pp, d.role.pipeline_rank));
  std::vector<ChunkDraft*> in_order;
  for (const auto& chunk : chunks) in_order.push_back(chunk.get());
  std::sort(in_order.begin(), in_order.end(), [](const ChunkDraft* a, const ChunkDraft* b) {
    return a->place().chunk.global_chunk < b->place().chunk.global_chunk;
  });
  for (ChunkDraft* chunk : in_order) {
    for (const Bucket& b : chunk->parameters().buckets()) {
      if (!b.trained()) continue;
      d.collective({.reduce = ReduceOp::sum, .comm = comm, .module = Module::optimizer},
                   b.grad_shard, b.grad_shard, d.slot(b.grad_shard).elements);
    }
  }
}

/// The fp32 gradients the optimizer works on: the shard itself, or its fp32 copy.
SlotId optimizer_gradient(RoleDraft& d, SlotId shard) {
  const bool copies = d.rules().fp32_grad_copy_in_step && d.plan().master != Dtype::none &&
                      bits_of(d.plan().grads) < bits_of(d.plan().master);
  if (!copies) return shard;
  const std::int64_t n = d.slot(shard).elements;
  const SlotId wide = d.tensor("grads_fp32", n, d.plan().master, Category::grads);
  d.kernel({.kernel = Kernel::cast, .dims = {n}, .module = Module::optimizer}, {shard}, {wide});
  return wide;
}

/// What the norm is taken of: where the host has a part, the shard as it lies.
SlotId normed_gradient(RoleDraft& d, const Bucket& b) {
  return b.host.elements > 0 ? b.grad_shard : optimizer_gradient(d, b.grad_shard);
}

/// The gradient of what the device updates, from that of the norm.
SlotId device_gradient(RoleDraft& d, const Bucket& b, SlotId normed) {
  if (b.host.elements == 0) return normed;
  const std::int64_t n = d.slot(b.updated).elements;
  return optimizer_gradient(d, d.view(b.grad_shard, "device_grads", b.host.elements, n));
}

/// Scales of 8-bit states: read and written.
std::int64_t block_scale_bytes(const RoleDraft& d, const Bucket& b) {
  return b.state_scales == kNone ? 0 : 2 * d.slot(b.state_scales).bytes();
}

void update(RoleDraft& d, const Bucket& b, SlotId grad, SlotId coefficient) {
  const std::int64_t n = d.slot(grad).elements;
  OperandList inputs{grad, coefficient};
  add_overflow_guard(d, inputs);
  // Without a master copy it is the weights that are updated, and written once.
  const std::int64_t twice = b.master == b.updated ? d.slot(b.updated).bytes() : 0;
  if (b.momentum != kNone) {
    // A separate copy to half precision reads the new weights again.
    const bool copies = d.rules().clip_scales_gradients && b.master != b.updated;
    d.kernel(
        {.kernel = Kernel::adamw,
         .dims = {n},
         .attr = kFused,
         .module = Module::optimizer,
         .launches = copies ? 2 : 1,
         .extra_bytes = (copies ? d.slot(b.master).bytes() : -twice) + block_scale_bytes(d, b)},
        inputs, {b.master, b.momentum, b.variance, b.updated});
  } else {
    d.kernel({.kernel = Kernel::sgd,
              .dims = {n},
              .attr = kFused,
              .module = Module::optimizer,
              .extra_bytes = -twice},
             inputs, {b.master, b.updated});
  }
}

/// That is trained.
template <class Body>
void for_each_bucket(ChunkList& chunks, Body body) {
  for (const auto& chunk : chunks) {
    for (Bucket& b : chunk->parameters().buckets()) {
      if (b.trained()) body(b);
    }
  }
}

/// Over the ranks that hold distinct gradients.
std::uint32_t norm_comm_of(const RoleDraft& d) {
  return d.comm(d.plan().shards_states() ? "world" : "model");
}

/// The squared norm of all gradients, and what clipping makes of it. `grads`: by bucket.
void sum_norm(RoleDraft& d, const std::vector<Bucket*>& buckets, const std::vector<SlotId>& grads,
              const StepScalars& scalars) {
  const bool clips = d.rules().clip_scales_gradients;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& b = *buckets[i];
    const SlotId grad = grads[i];
    // Clipping reads the whole gradients, and reads and writes them to scale.
    const SlotId whole = b.grads == kNone ? grad : b.grads;
    const std::int64_t clip = 3 * d.slot(whole).bytes() - d.slot(grad).bytes();
    d.kernel({.kernel = Kernel::sum_squares,
              .dims = {d.slot(grad).elements},
              .module = Module::optimizer,
              .launches = clips ? 2 : 1,
              .extra_bytes = clips ? clip : 0},
             {grad}, {b.parted ? scalars.expert_norm2 : scalars.norm2});
  }
  const std::uint32_t norm_comm = norm_comm_of(d);
  if (norm_comm != kNone)
    d.collective({.comm = norm_comm, .module = Module::optimizer}, scalars.norm2, scalars.norm2, 1);
  if (scalars.expert_norm2 != scalars.norm2) {
    d.collective({.comm = d.comm("model_ep"), .module = Module::optimizer}, scalars.expert_norm2,
                 scalars.expert_norm2, 1);
    d.kernel({.kernel = Kernel::accumulate, .dims = {1}, .module = Module::optimizer},
             {scalars.expert_norm2}, {scalars.norm2});
  }
  d.kernel({.kernel = Kernel::clip_coefficient, .dims = {1}, .module = Module::optimizer},
           {scalars.norm2}, {scalars.coefficient});
}

/// Gradients of one step: given back when the optimizer has read them.
void give_back_gradients(RoleDraft& d, ChunkList& chunks) {
  bool ordered = false;
  for_each_bucket(chunks, [&](Bucket& b) {
    const Slot& shard = d.slot(b.grad_shard);
    if (shard.space != Space::step || shard.parent != kNone) return;
    if (!std::exchange(ordered, true)) d.order({.to = shard.pool, .event = "updated"});
    d.give_back(b.grad_shard, When::always);
  });
}

}  // namespace

std::string copies_comm(int pp, int pipeline_rank) {
  return "copies" + std::to_string(std::min(pipeline_rank, pp - 1 - pipeline_rank));
}

StepScalars make_scalars(RoleDraft& d) {
  StepScalars s;
  s.loss = d.static_slot("loss", 1, Dtype::fp32, Category::scalars);
  s.norm2 = d.static_slot("grad_norm2", 1, Dtype::fp32, Category::scalars);
  // One of each expert group's ranks does not stand for all: their norm has a group of its own
  // (Megatron-LM core/optimizer: a dense and an expert optimizer, norms combined).
  const bool apart = d.plan().ep > 1 && !d.plan().shards_states();
  s.expert_norm2 =
      apart ? d.static_slot("expert_norm2", 1, Dtype::fp32, Category::scalars) : s.norm2;
  s.coefficient = d.static_slot("clip_coefficient", 1, Dtype::fp32, Category::scalars);
  make_loss_scale(d);
  s.host = make_host_scalars(d, s.coefficient);
  return s;
}

SegmentDraft draft_startup(RoleDraft& d) {
  SegmentDraft s{.name = "startup", .ops = {}};
  d.segment = &s;
  d.phase = Phase::startup;
  for (SlotId id = 0; id < d.role.slots.size(); ++id) {
    const Slot& slot = d.slot(id);
    if (slot.space == Space::statics && slot.parent == kNone && !taken_by_first_step(slot))
      d.take(id, When::always);
  }
  return s;
}

SegmentDraft draft_step_begin(RoleDraft& d, ChunkList& chunks, const StepScalars& scalars) {
  SegmentDraft s{.name = "step_begin", .ops = {}};
  d.segment = &s;
  d.phase = Phase::startup;
  for_each_bucket(chunks, [&](Bucket& b) {
    if (b.grads == kNone || d.slot(b.grads).space != Space::statics) return;
    d.kernel({.kernel = Kernel::zero, .dims = {b.elements}, .module = Module::optimizer}, {},
             {b.grads});
  });
  OperandList sums{scalars.loss, scalars.norm2};
  if (scalars.expert_norm2 != scalars.norm2) sums.push_back(scalars.expert_norm2);
  for (const SlotId id : sums) {
    d.kernel({.kernel = Kernel::zero, .dims = {1}, .module = Module::optimizer}, {}, {id});
  }
  draft_scale_begin(d);
  if (!d.plan().overlap_param_gather || !gathers_after_step(d)) return s;
  d.phase = Phase::param_sync;
  d.order({.to = Stream::dp, .event = "step_begun"});
  for (const auto& chunk : chunks) {  // in order of use: the last bucket holds the first layers
    std::vector<Bucket>& buckets = chunk->parameters().buckets();
    for (std::size_t i = buckets.size(); i-- > 0;) {
      if (!buckets[i].trained()) continue;
      gather_weights(d, buckets[i], Stream::dp);
      d.record(buckets[i].gathered, Stream::dp);
    }
  }
  return s;
}

SegmentDraft draft_grad_sync(RoleDraft& d, ChunkList& chunks) {
  SegmentDraft s{.name = "grad_sync", .ops = {}};
  d.segment = &s;
  d.phase = Phase::grad_sync;
  SlotId buffer = kNone;
  const bool in_backward = d.plan().shards_grads() || d.plan().shards_weights();
  for_each_bucket(chunks, [&](Bucket& b) {
    if (in_backward) return;
    if (b.reduced != kNone) {
      d.wait(b.reduced, Stream::compute);
    } else if (d.comm("dp") != kNone) {
      scale_expert_gradients(d, b, When::always);
      draft_bucket_reduction(d, b, Stream::compute, When::always);
      if (buffer == kNone && d.rules().reduction_buffer > 0) {
        buffer = d.keep("reduction_buffer", d.rules().reduction_buffer, d.slot(b.grads).dtype);
        d.slot(buffer).category = Category::comm_buffers;
      }
      if (buffer != kNone) d.hold(buffer);
    }
  });
  reduce_partial_gradients(d, chunks);
  sum_over_copies(d, chunks);
  for_each_bucket(chunks, [&](Bucket& b) {
    if (!b.tied) return;
    // Both stages' copies have a bucket of their own, so that their shards are alike too.
    const SlotId grads = b.grads == kNone ? b.grad_shard : b.grads;
    d.collective({.comm = d.comm("embedding"), .module = Module::optimizer}, grads, grads,
                 d.slot(grads).elements);
  });
  insert_allocations(d, {{&s}});
  return s;
}

SegmentDraft draft_optimizer(RoleDraft& d, ChunkList& chunks, const StepScalars& scalars) {
  SegmentDraft s{.name = "optimizer", .ops = {}};
  d.segment = &s;
  d.phase = Phase::optimizer;
  std::size_t tensors = 0;
  for (const auto& chunk : chunks) tensors += chunk->parameters().trained();
  d.host_work(HostItem::eager_op, d.rules().host_ops_per_parameter * static_cast<int>(tensors));
  std::vector<SlotId> grads;
  std::vector<Bucket*> buckets;
  for_each_bucket(chunks, [&](Bucket& b) {
    grads.push_back(normed_gradient(d, b));
    buckets.push_back(&b);
  });
  draft_unscale(d, grads, norm_comm_of(d));
  sum_norm(d, buckets, grads, scalars);
  for (SlotId id = 0; id < d.role.slots.size(); ++id) {
    if (d.slot(id).space == Space::statics && taken_by_first_step(d.slot(id)))
      d.take(id, When::first_step);
  }
  HostStep host(d, buckets, scalars.host);
  host.send(scalars.coefficient);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& b = *buckets[i];
    if (b.updated != kNone) update(d, b, device_gradient(d, b, grads[i]), scalars.coefficient);
  }
  host.update();
  draft_scale_update(d);
  give_back_gradients(d, chunks);
  if (gathers_after_step(d) && !d.plan().overlap_param_gather) {
    d.phase = Phase::param_sync;
    d.host_work(HostItem::eager_op, d.rules().host_ops_per_shard * static_cast<int>(tensors) *
                                        d.plan().replica_ranks());
    for_each_bucket(chunks, [&](Bucket& b) { gather_weights(d, b, Stream::compute); });
  }
  const bool has_loss = std::any_of(chunks.begin(), chunks.end(),
                                    [](const auto& c) { return c->place().chunk.has_head; });
  if (has_loss && d.comm("dp") != kNone) {
    d.phase = Phase::optimizer;
    d.collective({.reduce = ReduceOp::average, .comm = d.comm("dp"), .module = Module::loss},
                 scalars.loss, scalars.loss, 1);
  }
  if (d.rules().step_synchronizes) d.wait_on_host("step_done");
  insert_allocations(d, {{&s}});
  return s;
}

}  // namespace windtunnel
