#include "plan/role_draft.h"

#include "core/check.h"

namespace windtunnel {

namespace {

/// Whether output `index` (from the first output) of a kernel is accumulated into.
bool accumulates(const KernelSpec& spec, int index) {
  switch (spec.kernel) {
    case Kernel::embedding_bwd:
    case Kernel::position_bwd:
    case Kernel::accumulate:
    case Kernel::ce_loss:
    case Kernel::sum_squares:
    case Kernel::merge_attention:
      return true;
    case Kernel::flash_block_bwd:
      return index == 0 && (spec.attr & kOverwrite) == 0;
    case Kernel::bias_bwd:
      return (spec.attr & kOverwrite) == 0;
    case Kernel::layernorm_bwd:
    case Kernel::rmsnorm_bwd:
      return index > 0 && (spec.attr & kOverwrite) == 0;
    case Kernel::gemm_wgrad:
    case Kernel::grouped_wgrad:
      return (spec.attr & kAccumulate) != 0;
    case Kernel::update_loss_scale:
      return true;
    case Kernel::adamw:
      return index < 3;
    case Kernel::sgd:
      return index < 1;
    default:
      return false;
  }
}

}  // namespace

RoleDraft::RoleDraft(ProgramWriter& w, const ResolvedScenario& s, int pipeline_rank)
    : writer(w), scenario(s) {
  role.pipeline_rank = pipeline_rank;
}

SlotId RoleDraft::tensor(std::string_view name, std::int64_t elements, Dtype dtype,
                         Category category) {
  role.slots.push_back({.elements = elements,
                        .dtype = dtype,
                        .space = Space::scratch,
                        .category = category,
                        .pool = Stream::compute,
                        .chunk = chunk,
                        .layer = layer,
                        .name = writer.name(name)});
  return static_cast<SlotId>(role.slots.size() - 1);
}

SlotId RoleDraft::static_slot(std::string_view name, std::int64_t elements, Dtype dtype,
                              Category category) {
  const SlotId id = tensor(name, elements, dtype, category);
  slot(id).space = Space::statics;
  slot(id).chunk = -1;
  return id;
}

SlotId RoleDraft::tensor_of(Stream pool, std::string_view name, std::int64_t elements, Dtype dtype,
                            Category category) {
  const SlotId id = tensor(name, elements, dtype, category);
  slot(id).pool = pool;
  return id;
}

SlotId RoleDraft::placed(SlotId id, Space space) {
  slot(id).space = space;
  if (space == Space::step) slot(id).chunk = -1;
  placed_by_hand.insert(id);
  return id;
}

void RoleDraft::take(SlotId id, When when) {
  DraftOp op;
  op.op = {.kind = OpKind::alloc,
           .stream = slot(id).pool,
           .phase = phase,
           .module = Module::optimizer,
           .when = when,
           .layer = slot(id).layer};
  op.operands = {id};
  segment->ops.push_back(op);
}

void RoleDraft::give_back(SlotId id, When when) {
  take(id, when);
  segment->ops.back().op.kind = OpKind::free;
}

SlotId RoleDraft::view(SlotId parent, std::string_view name, std::int64_t offset,
                       std::int64_t elements) {
  Slot s = slot(parent);
  s.name = writer.name(name);
  s.parent = parent;
  s.offset = offset;
  s.elements = elements;
  s.dp_stride = s.tp_stride = 0;
  s.tp_back = 0;
  s.dp_ways = 0;
  s.dp_step = 1;
  s.shard_of = kNone;
  role.slots.push_back(s);
  return static_cast<SlotId>(role.slots.size() - 1);
}

SlotId RoleDraft::tp_part(SlotId whole, std::string_view name, int back) {
  const std::int64_t n = slot(whole).elements / plan().tp;
  const SlotId part = view(whole, name, 0, n);
  slot(part).tp_stride = n;
  slot(part).tp_back = back;
  return part;
}

SlotId RoleDraft::dp_part(SlotId whole, std::string_view name, int ways, int step) {
  const std::int64_t n = slot(whole).elements / ways;
  const SlotId part = view(whole, name, 0, n);
  slot(part).dp_stride = n;
  slot(part).dp_ways = ways;
  slot(part).dp_step = step;
  return part;
}

void RoleDraft::kernel(const KernelSpec& spec, const OperandList& inputs,
                       const OperandList& outputs) {
  Shape shape{.kernel = spec.kernel,
              .attr = static_cast<std::uint16_t>(spec.attr | (spec.continues ? kContinues : 0)),
              .variant = spec.variant,
              .dims = spec.dims};
  for (const SlotId id : inputs) shape.bytes_read += slot(id).bytes();
  int index = 0;
  for (const SlotId id : outputs) {
    shape.bytes_written += slot(id).bytes();
    if (accumulates(spec, index++)) shape.bytes_read += slot(id).bytes();
  }
  shape.bytes_read += spec.extra_bytes;
  if (spec.kernel == Kernel::hand_over) shape.bytes_read = shape.bytes_written = 0;
  if (spec.continues && inputs.size() > 0) shape.bytes_read -= slot(*inputs.begin()).bytes();
  if (inputs.size() > 0) shape.in = slot(*inputs.begin()).dtype;
  if (outputs.size() > 0) shape.out = slot(*outputs.begin()).dtype;
  // tf32 is how fp32 tensors are multiplied, not how they are stored.
  const bool product = row_of(spec.kernel).cls == KernelClass::gemm;
  if (product && scenario.plan.compute == Dtype::tf32 && shape.in == Dtype::fp32)
    shape.in = Dtype::tf32;
  shape.acc = shape.out;
  DraftOp d;
  d.op = {.kind = OpKind::compute,
          .stream = spec.stream,
          .phase = phase,
          .module = spec.module,
          .when = spec.when,
          .recompute = recompute,
          .launches = static_cast<std::uint8_t>(spec.continues ? 0 : spec.launches),
          .inputs = inputs.size(),
          .layer = layer,
          .shape = writer.shape(shape)};
  d.operands = inputs;
  for (const SlotId id : outputs) d.operands.push_back(id);
  segment->ops.push_back(d);
}

void RoleDraft::collective(const TransferSpec& spec, SlotId in, SlotId out, std::int64_t full) {
  CHECK(spec.comm != kNone, "a collective needs a communicator with two members");
  DraftOp d;
  d.op = {.kind = OpKind::collective,
          .stream = spec.stream,
          .phase = phase,
          .module = spec.module,
          .when = spec.when,
          .recompute = recompute,
          .collective = spec.collective,
          .reduce = spec.reduce,
          .launches = 1,
          .inputs = 1,
          .distance = static_cast<std::uint8_t>(spec.distance),
          .layer = layer,
          .comm = spec.comm,
          .elements = full,
          .dtype = slot(in).dtype};
  d.operands = {in, out};
  segment->ops.push_back(d);
}

void RoleDraft::point_to_point(OpKind kind, SlotId id, int peer_role, std::uint32_t comm,
                               Stream stream) {
  DraftOp d;
  d.op = {.kind = kind,
          .stream = stream,
          .phase = phase,
          .module = Module::pipeline,
          .launches = 1,
          .inputs = static_cast<std::uint8_t>(kind == OpKind::send ? 1 : 0),
          .peer = static_cast<std::int16_t>(peer_role),
          .comm = comm,
          .elements = slot(id).elements,
          .dtype = slot(id).dtype};
  d.operands = {id};
  segment->ops.push_back(d);
}

void RoleDraft::host_work(HostItem item, int repeat) {
  if (repeat == 0) return;
  DraftOp d;
  d.op = {.kind = OpKind::host_work,
          .phase = phase,
          .recompute = recompute,
          .layer = layer,
          .shape = writer.shape(
              {.kernel = Kernel::host_work, .dims = {static_cast<std::int64_t>(item), repeat}})};
  segment->ops.push_back(d);
}

std::uint32_t RoleDraft::event(std::string_view name, bool per_frame) {
  role.events.push_back({.name = writer.name(name), .per_frame = per_frame});
  return static_cast<std::uint32_t>(role.events.size() - 1);
}

void RoleDraft::record(std::uint32_t event, Stream stream, When when) {
  DraftOp d;
  d.op = {.kind = OpKind::record,
          .stream = stream,
          .phase = phase,
          .when = when,
          .layer = layer,
          .event = event};
  segment->ops.push_back(d);
}

void RoleDraft::wait(std::uint32_t event, Stream stream, const OperandList& holds, When when) {
  DraftOp d;
  d.op = {.kind = OpKind::wait,
          .stream = stream,
          .phase = phase,
          .when = when,
          .layer = layer,
          .event = event};
  d.holds = holds;
  segment->ops.push_back(d);
}

void RoleDraft::order(const Ordering& o, const OperandList& holds) {
  if (o.from == o.to) return;
  const std::uint32_t ready = event(o.event, o.per_frame);
  record(ready, o.from, o.when);
  wait(ready, o.to, holds, o.when);
}

void RoleDraft::host_sync(std::uint32_t event) {
  DraftOp d;
  d.op = {.kind = OpKind::host_sync,
          .stream = Stream::compute,
          .phase = phase,
          .layer = layer,
          .event = event};
  segment->ops.push_back(d);
}

void RoleDraft::wait_on_host(std::string_view name) {
  const std::uint32_t done = event(name, false);
  record(done, Stream::compute);
  host_sync(done);
}

SlotId RoleDraft::keep(std::string_view name, std::int64_t elements, Dtype dtype) {
  const SlotId id = tensor(name, elements, dtype);
  hold(id);
  return id;
}

void RoleDraft::hold(SlotId id) {
  CHECK(!segment->ops.empty(), "hold needs an op before it");
  segment->ops.back().holds.push_back(id);
}

}  // namespace windtunnel
