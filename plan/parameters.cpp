#include "plan/parameters.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "plan/bucket_reduction.h"
#include "plan/host_optimizer.h"

namespace windtunnel {

namespace {

/// Rows along the first dimension on one tp rank, and elements of one.
struct LocalShape {
  std::int64_t rows = 0, columns = 0;
};

LocalShape local_shape(const Param& p, int tp) {
  const std::int64_t rows = std::max(p.rows, p.padded_rows);
  return {p.shard_dim == 0 ? rows / tp : rows, p.shard_dim == 1 ? p.cols / tp : p.cols};
}

/// fully_shard cuts every parameter by its first dimension, padded to a multiple of the shard
/// group (_fsdp_param.py); flat parameters align each but the last and are padded once.
std::int64_t padded_elements(const RoleDraft& d, const Param& p, bool last) {
  const LocalShape local = local_shape(p, d.plan().tp);
  const ShardedUnitRules& rules = d.rules().units;
  const int group = p.is_parted() ? d.plan().expert_shards() : d.plan().shard_degree;
  const std::int64_t ways = rules.pads_each_parameter ? group : 1;
  const auto cut = [ways](std::int64_t n) { return (n + ways - 1) / ways * ways; };
  const std::int64_t padded = p.experts > 1  // (experts, rows, columns)
                                  ? cut(p.held) * local.rows * local.columns
                                  : cut(local.rows) * local.columns;
  const std::int64_t aligned = last ? 1 : rules.aligned_bytes * 8 / bits_of(d.plan().multiplied());
  return aligned > 1 ? (padded + aligned - 1) / aligned * aligned : padded;
}

int unit_key(const RoleDraft& d, const ParameterRequest& r) {
  if (r.param.layer >= 0) return r.param.layer;
  const Model& m = d.model();
  const bool shared = m.tied_embeddings || m.mtp_layers > 0;  // by modules of several units
  if (d.rules().units.ends_in_root || shared) return kRootUnit;
  const bool embedding = r.name == "word_embedding" || r.name == "position_embedding";
  return embedding ? kEmbeddingUnit : kHeadUnit;
}

}  // namespace

std::int64_t local_elements(const Param& p, int tp) {
  const LocalShape local = local_shape(p, tp);
  return p.held * local.rows * local.columns;
}

ParameterId ChunkParameters::declare(ParameterRequest request) {
  request.frozen = adapters_only_ && !request.adapter;
  if (request.frozen) {
    request.contributions = 0;
    request.partial_over_tp = false;
  }
  requests_.push_back(std::move(request));
  return requests_.size() - 1;
}

void ChunkParameters::lay_out(RoleDraft& d, bool one_bucket) {
  slots_.resize(requests_.size());
  quantized_.resize(requests_.size());
  bucket_of_.assign(requests_.size(), 0);
  offset_.assign(requests_.size(), 0);
  drafted_.assign(requests_.size(), 0);
  if (d.plan().shards_weights()) {
    lay_out_units(d);
    return;
  }
  for (const bool parted : {false, true}) {
    for (const bool frozen : {false, true})
      lay_out_buckets(d, one_bucket || frozen, {.parted = parted, .frozen = frozen});
  }
  awaited_.assign(buckets_.size(), false);
}

void ChunkParameters::lay_out_buckets(RoleDraft& d, bool one_bucket, const Kept& kept) {
  std::vector<ParameterId> members;
  std::int64_t elements = 0;
  auto close = [&] {
    if (!members.empty()) make_bucket(d, members, kRootUnit);
    members.clear();
    elements = 0;
  };
  for (std::size_t i = requests_.size(); i-- > 0;) {
    if (requests_[i].param.is_parted() != kept.parted || requests_[i].frozen != kept.frozen)
      continue;
    const bool tied = d.copies_word_embedding() && !kept.frozen &&
                      requests_[i].name.rfind("word_embedding", 0) == 0;
    if (tied) close();
    members.push_back(i);
    elements += local_elements(requests_[i].param, d.plan().tp);
    const bool first = buckets_.empty() && d.plan().first_bucket > 0;
    const std::int64_t full = first ? d.plan().first_bucket : d.plan().bucket;
    if (tied || (!one_bucket && elements >= full)) close();
    if (tied) buckets_.back().tied = true;
  }
  close();
}

/// One unit for each key, in order of first use; parameters in the order they were declared.
void ChunkParameters::lay_out_units(RoleDraft& d) {
  std::vector<int> keys;
  for (const ParameterRequest& r : requests_) {
    const int key = unit_key(d, r);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  for (const int key : keys) {
    for (const bool parted : {false, true}) {
      std::vector<ParameterId> members;
      for (ParameterId id = 0; id < requests_.size(); ++id) {
        const bool same = requests_[id].param.is_parted() == parted;
        if (same && unit_key(d, requests_[id]) == key) members.push_back(id);
      }
      if (!members.empty()) make_bucket(d, members, key);
    }
  }
}

void ChunkParameters::make_bucket(RoleDraft& d, const std::vector<ParameterId>& members, int key) {
  Bucket b{.parameters = members, .key = key};
  if (d.plan().shards_weights() && key < 0)
    b.module = key == kHeadUnit ? Module::head : Module::embedding;
  for (const ParameterId id : members) {
    const Param& p = requests_[id].param;
    (requests_[id].frozen ? b.frozen : b.elements) +=
        d.plan().shards_weights() ? padded_elements(d, p, id == members.back())
                                  : local_elements(p, d.plan().tp);
    b.waiting += requests_[id].contributions;
    b.partial_over_tp |= requests_[id].partial_over_tp && d.comm("tp") != kNone;
  }
  b.parted = requests_[members.front()].param.is_parted();
  const bool whole = !b.trained() && !d.plan().shards_weights();
  b.ways = !d.plan().shards_states() || whole ? 1
           : b.parted                         ? d.plan().expert_shards()
                                              : d.plan().shard_degree;
  b.step = b.parted ? d.plan().expert_ways : 1;
  for (std::int64_t* n : {&b.elements, &b.frozen}) *n = (*n + b.ways - 1) / b.ways * b.ways;
  const std::string kind = d.plan().shards_weights() ? ".unit" : ".bucket";
  const std::string suffix = kind + std::to_string(buckets_.size());
  make_weights(d, b, suffix);
  if (b.trained()) make_buffers(d, b, suffix);
  make_views(d, b);
  for (const ParameterId id : members) bucket_of_[id] = buckets_.size();
  make_events(d, b, suffix);
  buckets_.push_back(std::move(b));
}

void ChunkParameters::make_events(RoleDraft& d, Bucket& b, const std::string& suffix) {
  if (d.plan().overlap_grad_reduce && d.comm("dp") != kNone && b.trained())
    b.reduced = d.event("reduced" + suffix, false);
  if (b.reduced != kNone && (d.plan().shards_grads() || d.plan().shards_weights()))
    b.scattered = d.event("scattered" + suffix, false);
  const bool cut = b.trained() ? d.plan().shards_states() : d.plan().shards_weights();
  if (d.plan().overlap_param_gather && cut) b.gathered = d.event("gathered" + suffix, false);
}

void ChunkParameters::make_weights(RoleDraft& d, Bucket& b, const std::string& suffix) {
  const ResolvedPlan& plan = d.plan();
  if (!plan.shards_weights()) {
    b.weights =
        d.static_slot("weights" + suffix, b.whole_elements(), plan.params, Category::weights);
    return;
  }
  b.weights =
      d.tensor("unsharded" + suffix, b.whole_elements(), plan.multiplied(), Category::unsharded);
  if (b.frozen == 0) return;
  b.frozen_shard =
      d.static_slot("frozen_shard" + suffix, b.frozen / b.ways, plan.params, Category::weights);
  const SlotId part = b.trained() ? d.view(b.weights, "frozen" + suffix, 0, b.frozen) : b.weights;
  cut(d.slot(b.frozen_shard), part, b);
}

void ChunkParameters::make_buffers(RoleDraft& d, Bucket& b, const std::string& suffix) {
  const ResolvedPlan& plan = d.plan();
  const int ways = b.ways;
  const std::int64_t shard = b.elements / ways;
  const SlotId trained =
      b.frozen > 0 ? d.view(b.weights, "trained" + suffix, b.frozen, b.elements) : b.weights;
  if (!plan.shards_grads()) {
    b.grads = d.static_slot("grads" + suffix, b.elements, plan.grads, Category::grads);
    if (plan.accumulates_whole()) d.placed(b.grads, Space::step);
  }
  const auto shard_of = [&](const char* name, SlotId whole, Dtype dtype, Category category) {
    const bool kept = whole != kNone && d.slot(whole).space == Space::statics;
    if (kept && ways == 1) return whole;
    if (kept) return d.dp_part(whole, name + suffix, ways, b.step);
    const SlotId own = d.static_slot(name + suffix, shard, dtype, category);
    cut(d.slot(own), trained, b);
    return own;
  };
  b.weight_shard = shard_of("weight_shard", trained, plan.params, Category::weights);
  const Dtype grad_type =
      plan.master == Dtype::none && plan.shards_weights() ? plan.params : plan.grads;
  b.grad_shard = shard_of("grad_shard", b.grads, grad_type, Category::grads);
  if (d.slot(b.grad_shard).parent == kNone && b.grad_shard != b.grads) {
    d.placed(b.grad_shard, Space::step);
    d.slot(b.grad_shard).pool = reduction_stream_of(d);
  }
  make_host_part(d, b, suffix);
  if (b.updated != kNone) make_states(d, b, suffix);
}

void ChunkParameters::make_states(RoleDraft& d, Bucket& b, const std::string& suffix) {
  const ResolvedPlan& plan = d.plan();
  const std::int64_t shard = d.slot(b.updated).elements;
  b.master = plan.master == Dtype::none
                 ? b.updated
                 : d.static_slot("master" + suffix, shard, plan.master, Category::master_weights);
  if (plan.optimizer == OptimizerKind::adamw || plan.optimizer == OptimizerKind::adam8bit) {
    b.momentum =
        d.static_slot("adam_m" + suffix, shard, plan.optimizer_states, Category::optimizer_states);
    b.variance =
        d.static_slot("adam_v" + suffix, shard, plan.optimizer_states, Category::optimizer_states);
    // bitsandbytes optim/optimizer.py: blockwise, a scale in fp32 for each 256 of either state.
    constexpr std::int64_t kStateBlock = 256;
    if (plan.optimizer == OptimizerKind::adam8bit)
      b.state_scales =
          d.static_slot("state_scales" + suffix, 2 * ((shard + kStateBlock - 1) / kStateBlock),
                        Dtype::fp32, Category::optimizer_states);
  }
}

void ChunkParameters::make_views(RoleDraft& d, Bucket& b) {
  const ResolvedPlan& plan = d.plan();
  std::int64_t frozen = 0, trained = 0;
  for (const ParameterId id : b.parameters) {
    ParameterRequest& r = requests_[id];
    std::int64_t& offset = r.frozen ? frozen : trained;
    r.param.name = d.writer.name(r.name);
    const auto param = static_cast<std::uint32_t>(d.writer.program.params.size());
    r.param.second_copy = d.role.chunks[static_cast<std::size_t>(d.chunk)].copy > 0;
    d.writer.program.params.push_back(r.param);
    const std::int64_t n = local_elements(r.param, plan.tp);
    ParameterSlots s{.weight = d.view(b.weights, r.name, offset + (r.frozen ? 0 : b.frozen), n)};
    d.slot(s.weight).param = param;
    d.slot(s.weight).layer = r.param.layer;
    offset_[id] = offset;
    if (!r.frozen) make_gradient(d, b, id, s);
    slots_[id] = s;
    offset += n;
  }
  b.filled = trained;
}

void ChunkParameters::make_gradient(RoleDraft& d, const Bucket& b, ParameterId id,
                                    ParameterSlots& s) {
  const ResolvedPlan& plan = d.plan();
  const std::int64_t n = d.slot(s.weight).elements;
  const std::string grad = requests_[id].name + ".grad";
  s.grad = b.grads == kNone ? d.tensor(grad, n, plan.multiplied(), Category::grads)
                            : d.view(b.grads, grad, offset_[id], n);
  if (d.rules().half_grads == HalfGrads::kept && plan.grads == Dtype::fp32 &&
      bits_of(plan.compute) < 32) {
    s.half_grad =
        d.static_slot(requests_[id].name + ".half_grad", n, plan.multiplied(), Category::grads);
    d.slot(s.half_grad).param = d.slot(s.weight).param;
  }
  d.slot(s.grad).param = d.slot(s.weight).param;
  d.slot(s.grad).layer = requests_[id].param.layer;
}

std::uint16_t ChunkParameters::gradient_attr(const RoleDraft& d, ParameterId id) const {
  return d.plan().shards_grads() && drafted_[id] == 0 ? kOverwrite : kAttrNone;
}

void ChunkParameters::prepare_gradient(RoleDraft& d, ParameterId id) {
  if (gradient_attr(d, id) == kAttrNone) return;
  const SlotId grad = slots_[id].grad;
  d.kernel({.kernel = Kernel::zero, .dims = {d.slot(grad).elements}, .module = Module::optimizer},
           {}, {grad});
}

void ChunkParameters::gradient_drafted(RoleDraft& d, ParameterId id) {
  Bucket& b = buckets_[bucket_of_[id]];
  CHECK(b.waiting > 0, "a gradient is drafted as often as it was declared");
  --b.waiting;
  if (++drafted_[id] == requests_[id].contributions && d.plan().shards_grads()) {
    reduce_over_tp(d, id, When::always);
    if (!d.plan().shards_weights()) {
      copy_into_bucket(d, b, {.grad = slots_[id].grad, .offset = offset_[id]});
    }
  }
  if (b.waiting > 0 || d.plan().shards_weights()) return;  // units are reduced as they are left
  if (deferred_ != nullptr) {
    put_off_.push_back(bucket_of_[id]);
  } else {
    bucket_ready(d, bucket_of_[id]);
  }
}

void ChunkParameters::start_put_off_reductions(RoleDraft& d) {
  for (const std::size_t index : std::exchange(put_off_, {})) bucket_ready(d, index);
}

void ChunkParameters::restart_backward() {
  drafted_.assign(requests_.size(), 0);
  for (Bucket& b : buckets_) {
    b.waiting = 0;
    for (const ParameterId id : b.parameters) b.waiting += requests_[id].contributions;
  }
}

void ChunkParameters::bucket_ready(RoleDraft& d, std::size_t index) {
  Bucket& b = buckets_[index];
  if (d.plan().shards_grads()) {
    if (in_flight_) await_reduction(d, buckets_[*in_flight_], {.when = When::always});
    reduce_to_shard(d, b, When::always);
    in_flight_ = index;
  } else if (b.reduced != kNone) {
    reduce_beside_backward(d, b);
  } else {
    send_gradients_in_backward(d, b, Stream::compute);
  }
}

void ChunkParameters::end_backward(RoleDraft& d) {
  if (!in_flight_) return;
  await_reduction(d, buckets_[*in_flight_], {.when = When::always, .shards = true});
  in_flight_.reset();
}

void ChunkParameters::reduce_over_tp(RoleDraft& d, ParameterId id, When when) {
  if (!requests_[id].partial_over_tp || d.comm("tp") == kNone) return;
  const SlotId grad = slots_[id].grad;
  d.collective({.comm = d.comm("tp"), .module = Module::optimizer, .when = when}, grad, grad,
               d.slot(grad).elements);
}

void ChunkParameters::before_use(RoleDraft& d, ParameterId id) {
  if (d.plan().shards_weights()) return;
  const std::size_t index = bucket_of_[id];
  const Bucket& b = buckets_[index];
  if (b.gathered == kNone || awaited_[index]) return;
  awaited_[index] = true;
  d.wait(b.gathered, Stream::compute, {}, When::first_micro_batch);
}

}  // namespace windtunnel
