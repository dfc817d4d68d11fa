#include "plan/host_optimizer.h"

#include <cmath>

#include "plan/host_copy.h"
#include "plan/loss_scaling.h"

namespace windtunnel {

namespace {

SlotId host_slot(RoleDraft& d, const std::string& name, std::int64_t n, const Slot& like) {
  const SlotId id = d.static_slot(name, n, like.dtype, like.category);
  d.slot(id).host = true;
  return id;
}

/// The first elements of a shard on the device, which are the host's to update.
SlotId host_view(RoleDraft& d, const Bucket& b, SlotId shard, const char* name) {
  return d.slot(shard).elements == b.host.elements ? shard
                                                   : d.view(shard, name, 0, b.host.elements);
}

void send_gradients(RoleDraft& d, const Bucket& b, Stream on, When when) {
  copy_across(d, {.kernel = Kernel::to_host, .stream = on, .when = when},
              {host_view(d, b, b.grad_shard, "host_grads")}, {b.host.grads});
  d.record(b.host.arrived, on, when);
}

/// On the device, in the order in which updates read them.
OperandList update_scalars(const RoleDraft& d, SlotId coefficient) {
  OperandList scalars{coefficient};
  add_overflow_guard(d, scalars);
  return scalars;
}

/// Whether nothing changes the bucket's gradients between their reduction and the update.
bool is_whole_when_reduced(const RoleDraft& d, const Bucket& b) {
  if (b.tied || d.plan().loss_scaling || d.plan().model_copies() > 1) return false;
  if (d.plan().shards_grads() || d.plan().shards_weights()) return true;
  return !b.partial_over_tp && (b.reduced != kNone || d.comm("dp") == kNone);
}

bool leaves_in_backward(const RoleDraft& d, const Bucket& b) {
  return b.host.elements > 0 && d.plan().offload_overlap &&
         d.rules().offload.gradients_in_backward && is_whole_when_reduced(d, b);
}

}  // namespace

OperandList make_host_scalars(RoleDraft& d, SlotId coefficient) {
  OperandList scalars;
  if (d.plan().offload_optimizer <= 0.0) return scalars;
  for (const SlotId id : update_scalars(d, coefficient)) {
    const Slot like = d.slot(id);
    const std::string name = "host_" + d.writer.program.names[like.name];
    scalars.push_back(host_slot(d, name, like.elements, like));
  }
  return scalars;
}

void make_host_part(RoleDraft& d, Bucket& b, const std::string& suffix) {
  const ResolvedPlan& plan = d.plan();
  const std::int64_t shard = d.slot(b.weight_shard).elements;
  const auto n =
      static_cast<std::int64_t>(std::llround(plan.offload_optimizer * static_cast<double>(shard)));
  b.updated = b.weight_shard;
  if (n == 0) return;
  b.host.elements = n;
  b.host.arrived = d.event("grads_arrived" + suffix, false);
  const Slot weights = d.slot(b.weight_shard), grads = d.slot(b.grad_shard);
  if (plan.offload_params > 0.0) {
    b.host.weights = b.weight_shard;
    d.slot(b.weight_shard).host = true;
  } else {
    b.host.weights = host_slot(d, "host_weights" + suffix, n, weights);
    cut(d.slot(b.host.weights), b.weights, b);
  }
  b.host.grads = host_slot(d, "host_grads" + suffix, n, grads);
  const Slot master{.dtype = plan.master, .category = Category::master_weights};
  const Slot state{.dtype = plan.optimizer_states, .category = Category::optimizer_states};
  b.host.master =
      plan.master == Dtype::none ? b.host.weights : host_slot(d, "host_master" + suffix, n, master);
  if (plan.optimizer == OptimizerKind::adamw) {
    b.host.momentum = host_slot(d, "host_adam_m" + suffix, n, state);
    b.host.variance = host_slot(d, "host_adam_v" + suffix, n, state);
  }
  b.updated = n == shard ? kNone : d.view(b.weight_shard, "device_weights", n, shard - n);
}

void send_gradients_in_backward(RoleDraft& d, const Bucket& b, Stream from) {
  if (!leaves_in_backward(d, b)) return;
  const DraftScope scope(d, Phase::grad_sync);
  const When last = When::last_micro_batch;
  d.order({.from = from, .to = Stream::to_host, .event = "grads_whole", .when = last});
  send_gradients(d, b, Stream::to_host, last);
}

HostStep::HostStep(RoleDraft& draft, const std::vector<Bucket*>& buckets,
                   const OperandList& scalars)
    : d_(draft), scalars_(scalars) {
  for (Bucket* b : buckets) {
    if (b->host.elements > 0) buckets_.push_back(b);
  }
}

void HostStep::send(SlotId coefficient) {
  if (buckets_.empty()) return;
  d_.order({.to = out(), .event = "grads_whole"});
  copy_across(d_, {.kernel = Kernel::to_host, .stream = out()}, update_scalars(d_, coefficient),
              scalars_);
  scalars_arrived_ = d_.event("scalars_arrived", false);
  d_.record(scalars_arrived_, out());
  for (const Bucket* b : buckets_) {
    if (!leaves_in_backward(d_, *b)) send_gradients(d_, *b, out(), When::always);
  }
}

void HostStep::update(const Bucket& b) {
  OperandList inputs{b.host.grads};
  for (const SlotId id : scalars_) inputs.push_back(id);
  OperandList outputs{b.host.master};
  if (b.host.momentum != kNone) {
    outputs.push_back(b.host.momentum);
    outputs.push_back(b.host.variance);
  }
  outputs.push_back(b.host.weights);
  // Without a master copy it is the weights that are updated, and written once.
  const bool once = b.host.master == b.host.weights;
  const std::uint16_t passes = d_.rules().offload.one_pass ? kFused : kAttrNone;
  d_.kernel({.kernel = b.host.momentum == kNone ? Kernel::sgd : Kernel::adamw,
             .dims = {b.host.elements},
             .attr = static_cast<std::uint16_t>(kOnHost | passes),
             .module = Module::optimizer,
             .launches = 0,
             .stream = Stream::host,
             .extra_bytes = once ? -d_.slot(b.host.weights).bytes() : 0},
            inputs, outputs);
}

/// Weights that stay on the host come when they are gathered.
void HostStep::bring_back(const Bucket& b) {
  if (b.host.weights == b.weight_shard) return;
  copy_across(d_, {.kernel = Kernel::to_device, .stream = back()}, {b.host.weights},
              {host_view(d_, b, b.weight_shard, "host_updated")});
}

void HostStep::update() {
  if (buckets_.empty()) return;
  const bool overlap = d_.plan().offload_overlap;
  const std::uint32_t stepped = d_.event("host_stepped", false);
  d_.wait(scalars_arrived_, Stream::host);
  // Behind the device's own update (HybridDeviceOptimizer waits so; the rest of a shard is its).
  d_.order({.to = back(), .event = "device_updated"});
  if (!overlap) {
    for (const Bucket* b : buckets_) d_.wait(b->host.arrived, Stream::host);
  }
  for (const Bucket* b : buckets_) {
    if (overlap) d_.wait(b->host.arrived, Stream::host);
    update(*b);
    if (overlap) {
      d_.order({.from = Stream::host, .to = back(), .event = "bucket_stepped"});
      bring_back(*b);
    }
  }
  d_.record(stepped, Stream::host);
  d_.host_sync(stepped);  // the thread that issues is the one that updates
  d_.wait(stepped, Stream::compute);
  if (overlap) return d_.order({.from = back(), .event = "weights_returned"});
  for (const Bucket* b : buckets_) bring_back(*b);
}

}  // namespace windtunnel
