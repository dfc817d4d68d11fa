#include "plan/parameters.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

bool overlaps_reduction(const RoleDraft& d) {
  return d.plan().overlap_grad_reduce && d.comm("dp") != kNone;
}

bool sharded(const RoleDraft& d) {
  return d.plan().sharding == ShardingKind::zero1 && d.plan().dp > 1;
}

}  // namespace

std::int64_t local_elements(const Param& p, int tp) {
  const std::int64_t full = std::max(p.rows, p.padded_rows) * p.cols;
  return p.shard_dim < 0 ? full : full / tp;
}

void draft_bucket_reduction(RoleDraft& d, const Bucket& b, Stream stream, When when) {
  const bool zero1 = sharded(d) && !d.rules().zero1_all_reduces;
  d.collective({.collective = zero1 ? Collective::reduce_scatter : Collective::all_reduce,
                .reduce = ReduceOp::average,
                .comm = d.comm("dp"),
                .stream = stream,
                .module = Module::optimizer,
                .when = when},
               b.grads, zero1 ? b.grad_shard : b.grads, b.elements);
}

ParameterId ChunkParameters::declare(ParameterRequest request) {
  requests_.push_back(std::move(request));
  return requests_.size() - 1;
}

void ChunkParameters::lay_out(RoleDraft& d, bool one_bucket) {
  slots_.resize(requests_.size());
  bucket_of_.assign(requests_.size(), 0);
  std::vector<ParameterId> members;
  std::int64_t elements = 0;
  auto close = [&] {
    if (!members.empty()) make_bucket(d, members, static_cast<int>(buckets_.size()));
    members.clear();
    elements = 0;
  };
  for (std::size_t i = requests_.size(); i-- > 0;) {
    const bool tied = d.model().tied_embeddings && d.plan().pp > 1 &&
                      requests_[i].name.rfind("word_embedding", 0) == 0;
    if (tied) close();
    members.push_back(i);
    elements += local_elements(requests_[i].param, d.plan().tp);
    if (tied || (!one_bucket && elements >= d.plan().bucket)) close();
    if (tied) buckets_.back().tied = true;
  }
  close();
  awaited_.assign(buckets_.size(), false);
}

void ChunkParameters::make_bucket(RoleDraft& d, const std::vector<ParameterId>& members,
                                  int index) {
  const ResolvedPlan& plan = d.plan();
  Bucket b{.parameters = members};
  for (const ParameterId id : members) b.elements += local_elements(requests_[id].param, plan.tp);
  const std::int64_t parts = sharded(d) ? plan.dp : 1;
  b.elements = (b.elements + parts - 1) / parts * parts;
  const std::string suffix = ".bucket" + std::to_string(index);
  b.weights = d.static_slot("weights" + suffix, b.elements, plan.params, Category::weights);
  b.grads = d.static_slot("grads" + suffix, b.elements, plan.grads, Category::grads);
  b.weight_shard = b.weights;
  b.grad_shard = b.grads;
  const std::int64_t shard = b.elements / parts;
  if (parts > 1) {
    b.weight_shard = d.view(b.weights, "weight_shard" + suffix, 0, shard);
    b.grad_shard = d.view(b.grads, "grad_shard" + suffix, 0, shard);
    d.slot(b.weight_shard).dp_stride = shard;
    d.slot(b.grad_shard).dp_stride = shard;
  }
  b.master = plan.master == Dtype::none
                 ? b.weight_shard
                 : d.static_slot("master" + suffix, shard, plan.master, Category::master_weights);
  if (plan.optimizer == OptimizerKind::adamw) {
    b.momentum =
        d.static_slot("adam_m" + suffix, shard, plan.optimizer_states, Category::optimizer_states);
    b.variance =
        d.static_slot("adam_v" + suffix, shard, plan.optimizer_states, Category::optimizer_states);
  }
  std::int64_t offset = 0;
  for (const ParameterId id : members) {
    ParameterRequest& r = requests_[id];
    r.param.name = d.writer.name(r.name);
    const auto param = static_cast<std::uint32_t>(d.writer.program.params.size());
    d.writer.program.params.push_back(r.param);
    const std::int64_t n = local_elements(r.param, plan.tp);
    ParameterSlots s{.weight = d.view(b.weights, r.name, offset, n),
                     .grad = d.view(b.grads, r.name + ".grad", offset, n)};
    if (d.rules().half_grads == HalfGrads::kept && plan.grads == Dtype::fp32 &&
        bits_of(plan.compute) < 32) {
      s.half_grad = d.static_slot(r.name + ".half_grad", n, plan.compute, Category::grads);
      d.slot(s.half_grad).param = param;
    }
    for (const SlotId id2 : {s.weight, s.grad}) {
      d.slot(id2).param = param;
      d.slot(id2).layer = r.param.layer;
    }
    slots_[id] = s;
    bucket_of_[id] = buckets_.size();
    b.waiting += r.contributions;
    offset += n;
  }
  if (overlaps_reduction(d)) b.reduced = d.event("reduced" + suffix, false);
  if (plan.overlap_param_gather && sharded(d)) b.gathered = d.event("gathered" + suffix, false);
  buckets_.push_back(std::move(b));
}

void ChunkParameters::gradient_drafted(RoleDraft& d, ParameterId id) {
  Bucket& b = buckets_[bucket_of_[id]];
  CHECK(b.waiting > 0, "a gradient is drafted as often as it was declared");
  if (--b.waiting > 0 || b.reduced == kNone) return;
  const Phase phase = d.phase;
  d.phase = Phase::grad_sync;
  const std::uint32_t ready = d.event("ready", false);
  d.record(ready, Stream::compute, When::last_micro_batch);
  d.wait(ready, Stream::dp, {}, When::last_micro_batch);
  draft_bucket_reduction(d, b, Stream::dp, When::last_micro_batch);
  d.record(b.reduced, Stream::dp, When::last_micro_batch);
  d.phase = phase;
}

void ChunkParameters::before_use(RoleDraft& d, ParameterId id) {
  const std::size_t index = bucket_of_[id];
  const Bucket& b = buckets_[index];
  if (b.gathered == kNone || awaited_[index]) return;
  awaited_[index] = true;
  d.wait(b.gathered, Stream::compute, {}, When::first_micro_batch);
}

}  // namespace windtunnel
