#include "plan/bucket_reduction.h"

#include "core/check.h"
#include "plan/host_optimizer.h"
#include "plan/loss_scaling.h"

namespace windtunnel {

namespace {

struct Where {
  std::string_view comm;
  Stream stream;
  When when;
};

/// fully_shard averages by NCCL's own operation, but sums fp16 and divides around the sum.
bool divides_apart(const RoleDraft& d) {
  return d.plan().grads == Dtype::fp16 && d.plan().shards_weights() &&
         d.rules().units.unshard == UnshardKind::copied_out;
}

void divide(RoleDraft& d, const Bucket& b, SlotId x, std::int64_t by, const Where& at) {
  if (by == 1) return;
  d.kernel({.kernel = Kernel::scale,
            .dims = {d.slot(x).elements, by},
            .module = b.module,
            .stream = at.stream,
            .when = at.when},
           {x}, {x});
}

TransferSpec reduction(const RoleDraft& d, const Bucket& b, Collective kind, const Where& at) {
  return {.collective = kind,
          .reduce = divides_apart(d) ? ReduceOp::sum : ReduceOp::average,
          .comm = d.comm(at.comm),
          .stream = at.stream,
          .module = b.module,
          .when = at.when};
}

/// Of a bucket's reduction.
void order(RoleDraft& d, Stream from, Stream to, When when, const OperandList& holds = {}) {
  d.order({.from = from, .to = to, .event = "ready", .when = when}, holds);
}

Stream replica_stream(const RoleDraft& d) {
  return reduction_stream_of(d) == Stream::compute ? Stream::compute : Stream::dp_replicate;
}

const char* reduce_comm(const RoleDraft& d, const Bucket& b) {
  return d.plan().separate_reduce_group && !b.parted ? "dp_reduce" : shard_comm(d, b);
}

/// Reduce-scatter into `shard`, then over the replicas. Returns the stream the result is on.
Stream scatter(RoleDraft& d, const Bucket& b, SlotId shard, When when) {
  const Stream stream = reduction_stream_of(d);
  const Where at{reduce_comm(d, b), stream, when};
  const int averaged = b.parted ? d.plan().expert_replicas() : d.plan().replica_ranks();
  const DivideFactors factors = divides_apart(d) ? divide_factors(averaged) : DivideFactors{};
  divide(d, b, b.reduce_input, factors.before, at);
  if (b.ways == 1) {  // experts that no other rank of the shard group holds
    d.kernel({.kernel = Kernel::copy,
              .dims = {b.elements},
              .module = b.module,
              .stream = stream,
              .when = when},
             {b.reduce_input}, {shard});
  } else {
    d.collective(reduction(d, b, Collective::reduce_scatter, at), b.reduce_input, shard,
                 b.elements);
  }
  if (b.scattered != kNone) d.record(b.scattered, stream, when);
  Stream last = stream;
  if (d.plan().replicas() > 1) {
    last = replica_stream(d);
    order(d, stream, last, when);
    d.collective(reduction(d, b, Collective::all_reduce, {"dp_replicate", last, when}), shard,
                 shard, d.slot(shard).elements);
  }
  divide(d, b, shard, factors.after, {at.comm, last, when});
  return last;
}

}  // namespace

const char* replica_comm(const Bucket& b) {
  return b.parted ? "edp" : "dp";
}

const char* shard_comm(const RoleDraft& d, const Bucket& b) {
  if (d.plan().replicas() == 1) return replica_comm(b);
  return b.parted ? "edp_shard" : "dp_shard";
}

Stream reduction_stream_of(const RoleDraft& d) {
  return d.plan().overlap_grad_reduce ? Stream::dp : Stream::compute;
}

void scale_expert_gradients(RoleDraft& d, const Bucket& b, When when) {
  if (!b.parted || d.plan().expert_ways == 1) return;
  const SlotId grads = b.grads == kNone || d.plan().shards_weights() ? b.reduce_input : b.grads;
  d.kernel({.kernel = Kernel::scale,
            .dims = {b.elements, d.plan().expert_ways},
            .module = b.module,
            .when = when},
           {grads}, {grads});
}

void draft_bucket_reduction(RoleDraft& d, const Bucket& b, Stream stream, When when) {
  if (d.comm(replica_comm(b)) == kNone) return;  // experts that no other rank holds
  const bool scatters = b.ways > 1 && !d.rules().zero1_all_reduces;
  if (!scatters) {
    d.collective(reduction(d, b, Collective::all_reduce, {replica_comm(b), stream, when}), b.grads,
                 b.grads, b.elements);
    return;
  }
  d.collective(reduction(d, b, Collective::reduce_scatter, {shard_comm(d, b), stream, when}),
               b.grads, b.grad_shard, b.elements);
  if (d.plan().replicas() == 1) return;
  d.collective(reduction(d, b, Collective::all_reduce, {"dp_replicate", stream, when}),
               b.grad_shard, b.grad_shard, d.slot(b.grad_shard).elements);
}

void reduce_beside_backward(RoleDraft& d, const Bucket& b) {
  const DraftScope scope(d, Phase::grad_sync);
  scale_expert_gradients(d, b, When::last_micro_batch);
  order(d, Stream::compute, Stream::dp, When::last_micro_batch);
  draft_bucket_reduction(d, b, Stream::dp, When::last_micro_batch);
  d.record(b.reduced, Stream::dp, When::last_micro_batch);
  send_gradients_in_backward(d, b, Stream::dp);
}

void copy_into_bucket(RoleDraft& d, Bucket& b, const BucketPart& part) {
  const DraftScope scope(d, Phase::grad_sync);
  const std::int64_t n = d.slot(part.grad).elements;
  if (b.reduce_input == kNone) {
    b.reduce_input = d.tensor("reduce_input", b.elements, d.plan().grads, Category::comm_buffers);
    if (const std::int64_t padding = b.elements - b.filled; padding > 0) {
      d.kernel({.kernel = Kernel::zero, .dims = {padding}, .module = Module::optimizer}, {},
               {d.view(b.reduce_input, "reduce_padding", b.filled, padding)});
    }
  }
  const bool casts = d.slot(part.grad).dtype != d.plan().grads;
  d.kernel(
      {.kernel = casts ? Kernel::cast : Kernel::copy, .dims = {n}, .module = Module::optimizer},
      {part.grad}, {d.view(b.reduce_input, "reduce_part", part.offset, n)});
}

void reduce_to_shard(RoleDraft& d, Bucket& b, When when) {
  CHECK(b.reduce_input != kNone, "gradients are packed before they are reduced");
  const DraftScope scope(d, Phase::grad_sync);
  const Stream stream = reduction_stream_of(d);
  scale_expert_gradients(d, b, when);
  order(d, Stream::compute, stream, when);
  const bool every = when == When::always;
  const When first = every ? When::first_micro_batch : when;
  const std::int64_t n = d.slot(b.grad_shard).elements;
  const bool same_type = d.slot(b.grad_shard).dtype == d.plan().grads;
  const auto scattered = [&](When at) {
    const SlotId part = d.tensor_of(stream, "reduced", n, d.plan().grads, Category::comm_buffers);
    const Stream on = scatter(d, b, part, at);
    return std::pair(part, on);
  };
  d.take(b.grad_shard, first);
  Stream last = stream;
  if (same_type) {
    last = scatter(d, b, b.grad_shard, first);
  } else {
    const auto [part, on] = scattered(first);
    d.kernel({.kernel = Kernel::cast, .dims = {n}, .module = b.module, .stream = on, .when = first},
             {part}, {b.grad_shard});
    order(d, on, stream, first, {part});
    last = on;
  }
  if (every) {
    const auto [part, on] = scattered(When::not_first_micro_batch);
    d.kernel({.kernel = Kernel::accumulate,
              .dims = {n},
              .module = b.module,
              .stream = on,
              .when = When::not_first_micro_batch},
             {part}, {b.grad_shard});
    order(d, on, stream, When::not_first_micro_batch, {part});
  }
  if (last != Stream::compute) d.record(b.reduced, last, when);
  send_gradients_in_backward(d, b, last);
}

void await_reduction(RoleDraft& d, Bucket& b, const ReductionWait& wait) {
  if (reduction_stream_of(d) == Stream::compute || b.reduced == kNone) return;
  const DraftScope scope(d, Phase::grad_sync);
  OperandList input;
  if (b.reduce_input != kNone) input.push_back(b.reduce_input);
  if (wait.shards) d.wait(b.reduced, Stream::compute, {}, wait.when);
  d.wait(b.scattered, Stream::compute, input, wait.when);
}

}  // namespace windtunnel
