#include "plan/sharded_units.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "plan/bucket_reduction.h"

namespace windtunnel {

namespace {

/// Of a layer's unit its layer.
std::int16_t layer_of(const Bucket& b) {
  return static_cast<std::int16_t>(b.key >= 0 ? b.key : -1);
}

}  // namespace

ShardedUnits::ShardedUnits(RoleDraft& draft, ChunkParameters& parameters)
    : d_(draft), parameters_(parameters) {}

void ShardedUnits::place() {
  if (!active()) return;
  std::vector<Bucket>& buckets = parameters_.buckets();
  s_.units.assign(buckets.size(), {});
  int last_layer = -1;
  for (const Bucket& b : buckets) last_layer = std::max(last_layer, b.key);
  for (std::size_t u = 0; u < buckets.size(); ++u) {
    Bucket& b = buckets[u];
    b.stays_whole = b.key == kRootUnit || (b.key == kHeadUnit && d_.rules().units.head_stays) ||
                    (b.key == last_layer && d_.rules().units.last_layer_stays);
    const bool whole_step = stays(u) && d_.plan().accumulates_whole();
    const Space space = whole_step ? Space::step : stays(u) ? Space::frame : Space::scratch;
    d_.placed(b.weights, space);
    if (d_.rules().units.unshard != UnshardKind::copied_out)
      d_.slot(b.weights).pool = gather_stream();
  }
}

void ShardedUnits::add_part(int part) {
  if (!active()) return;
  for (const std::size_t unit : units_of(part)) ++s_.units[unit].parts;
}

std::vector<std::size_t> ShardedUnits::units_of(int part) const {
  const std::vector<Bucket>& buckets = parameters_.buckets();
  std::vector<std::size_t> found;
  for (const int key : {part, static_cast<int>(kRootUnit)}) {
    for (std::size_t unit = 0; unit < buckets.size(); ++unit) {
      if (buckets[unit].key == key) found.push_back(unit);
    }
    if (!found.empty()) break;
  }
  CHECK(!found.empty(), "every layer and end of the chunk lies in a unit");
  return found;
}

bool ShardedUnits::stays(std::size_t unit) const {
  return parameters_.buckets()[unit].stays_whole || d_.plan().reshard_after_forward == 0;
}

When ShardedUnits::gather_when(std::size_t unit) const {
  return stays(unit) && d_.plan().accumulates_whole() ? When::first_micro_batch : When::always;
}

Stream ShardedUnits::gather_stream() const {
  return d_.plan().overlap_param_gather ? Stream::dp_gather : Stream::compute;
}

void ShardedUnits::order(Stream from, Stream to, When when) {
  d_.order({.from = from, .to = to, .event = "gather_ready", .when = when});
}

/// Shards are what the optimizer made of them: gathers stand behind it.
void ShardedUnits::begin_forward() {
  s_.forward = true;
  if (active()) order(Stream::compute, gather_stream(), When::always);
}

void ShardedUnits::end_forward() {
  s_.forward = false;
  if (!active()) return;
  if (s_.copied_last) free_buffer(*s_.copied_last);
  s_.copied_last.reset();
  free_released(0);
}

void ShardedUnits::end_backward() {
  if (!active()) return;
  await_last_reduction();
  free_released(0);
}

void ShardedUnits::await_last_reduction() {
  if (!s_.in_flight) return;
  await_reduction(d_, parameters_.buckets()[*s_.in_flight],
                  {.when = reduce_when(), .shards = true});
  s_.in_flight.reset();
}

void ShardedUnits::enter(int part) {
  if (!active()) return;
  std::vector<std::size_t> units = units_of(part);
  if (!s_.forward) std::reverse(units.begin(), units.end());
  for (const std::size_t unit : units) enter_unit(unit);
}

void ShardedUnits::enter_unit(std::size_t unit) {
  if (s_.units[unit].left > 0 || s_.units[unit].entered) return;
  s_.units[unit].entered = true;
  if (!s_.units[unit].whole) {
    if (!s_.units[unit].issued) issue(unit);
    await(unit);
  }
  if (s_.forward) {
    for (std::size_t n = 1; n <= ahead_in_forward() && unit + n < s_.units.size(); ++n)
      prefetch(unit + n);
    return;
  }
  const auto at = std::find(s_.forward_order.begin(), s_.forward_order.end(), unit);
  const auto before = at - s_.forward_order.begin();
  for (std::ptrdiff_t n = 1; n <= d_.plan().prefetch && n <= before; ++n) prefetch(*(at - n));
  if (Bucket& b = parameters_.buckets()[unit]; d_.plan().accumulates_whole() && b.trained()) {
    d_.take(b.grads, When::first_micro_batch);
    d_.kernel({.kernel = Kernel::zero,
               .dims = {b.elements},
               .module = b.module,
               .when = When::first_micro_batch},
              {}, {b.grads});
  }
}

std::size_t ShardedUnits::ahead_in_forward() const {
  return static_cast<std::size_t>(d_.plan().forward_prefetch);
}

void ShardedUnits::leave(int part) {
  if (!active()) return;
  std::vector<std::size_t> units = units_of(part);
  if (!s_.forward) std::reverse(units.begin(), units.end());
  for (const std::size_t unit : units) leave_unit(unit);
}

void ShardedUnits::pass_by(int part) {
  if (!active()) return;
  for (const std::size_t unit : units_of(part)) {
    if (!s_.units[unit].whole && !s_.units[unit].issued) continue;
    enter_unit(unit);
    leave_unit(unit);
  }
}

/// From what ranks nearby kept of the whole unit, in its order.
bool ShardedUnits::gathers_kept(const Bucket& b) const {
  return b.kept_part != kNone && !s_.forward;
}

bool ShardedUnits::read_in_backward(const Bucket& b) const {
  return !d_.plan().lora || b.key != kEmbeddingUnit;
}

void ShardedUnits::leave_unit(std::size_t unit) {
  if (++s_.units[unit].left < s_.units[unit].parts) return;
  s_.units[unit].left = 0;
  s_.units[unit].entered = false;
  if (s_.forward) {
    // fully_shard gathers ahead in backward what it left in forward, read there or not.
    const bool ahead = d_.rules().units.unshard == UnshardKind::copied_out;
    if (ahead || stays(unit) || read_in_backward(parameters_.buckets()[unit]))
      s_.forward_order.push_back(unit);
    if (stays(unit)) return;
    keep_part(unit);
    release(unit, When::always);
    return;
  }
  if (!d_.plan().accumulates_whole()) {
    release(unit, When::always);
    reduce(unit);
  } else if (!stays(unit)) {
    release(unit, When::always);
  }
}

void ShardedUnits::prefetch(std::size_t unit) {
  if (!s_.units[unit].whole && !s_.units[unit].issued) issue(unit);
}

void ShardedUnits::issue(std::size_t unit) {
  Unit& u = s_.units[unit];
  Bucket& b = parameters_.buckets()[unit];
  if (d_.rules().units.unshard == UnshardKind::host_limited) free_released(1);
  u.issued = true;
  const DraftScope scope(d_, Phase::param_sync, layer_of(b));
  const When when = gather_when(unit);
  const Stream stream = gather_stream();
  SlotId whole = b.weights;
  if (d_.rules().units.unshard == UnshardKind::copied_out) {
    whole = u.buffer = d_.tensor_of(stream, "gather_output", b.whole_elements(),
                                    d_.plan().multiplied(), Category::comm_buffers);
  } else {
    d_.take(b.weights, when);
  }
  const bool from_kept = gathers_kept(b);
  if (from_kept && u.kept != kNone) d_.wait(u.kept, stream);
  if (from_kept) {
    gather(unit, {b.kept_part, whole, d_.plan().reshard_after_forward, "dp_part"});
  } else if (b.frozen > 0 && b.trained()) {
    gather_parts(unit);
  } else {
    gather(unit, {b.trained() ? b.weight_shard : b.frozen_shard, whole, b.ways, shard_comm(d_, b)});
  }
  if (stream != Stream::compute) d_.record(b.gathered, stream, when);
}

/// In the type of what is gathered.
void ShardedUnits::copy_to(std::size_t unit, SlotId from, SlotId to) {
  const bool casts = d_.slot(from).dtype != d_.slot(to).dtype;
  d_.kernel({.kernel = casts ? Kernel::cast : Kernel::copy,
             .dims = {d_.slot(to).elements},
             .module = parameters_.buckets()[unit].module,
             .stream = gather_stream(),
             .when = gather_when(unit)},
            {from}, {to});
}

void ShardedUnits::gather(std::size_t unit, const Gathering& g) {
  const Bucket& b = parameters_.buckets()[unit];
  const bool casts = d_.slot(g.source).dtype != d_.slot(g.whole).dtype;
  const bool host = d_.slot(g.source).host;
  SlotId own = g.source;
  if (host || casts || g.whole == s_.units[unit].buffer || g.ways == 1)
    own = d_.dp_part(g.whole, "own_part", g.ways, b.step);
  if (host) {
    fetch(unit, g.source, own);
  } else if (own != g.source) {
    copy_to(unit, g.source, own);
  }
  if (g.ways > 1)
    d_.collective({.collective = Collective::all_gather,
                   .reduce = ReduceOp::none,
                   .comm = d_.comm(g.comm),
                   .stream = gather_stream(),
                   .module = b.module,
                   .when = gather_when(unit)},
                  own, g.whole, d_.slot(g.whole).elements);
}

/// What is frozen and what is trained: one gather into a buffer, where each rank's parts of both
/// lie side by side; in place one of each.
void ShardedUnits::gather_parts(std::size_t unit) {
  const Bucket& b = parameters_.buckets()[unit];
  const SlotId buffer = s_.units[unit].buffer;
  if (buffer == kNone) {
    for (const SlotId shard : {b.frozen_shard, b.weight_shard})
      gather(unit, {shard, d_.slot(shard).shard_of, b.ways, shard_comm(d_, b)});
    return;
  }
  const SlotId own = d_.dp_part(buffer, "own_part", b.ways, b.step);
  std::int64_t offset = 0;
  for (const SlotId shard : {b.frozen_shard, b.weight_shard}) {
    const std::int64_t n = d_.slot(shard).elements;
    copy_to(unit, shard, d_.view(own, "own_shard", offset, n));
    offset += n;
  }
  d_.collective({.collective = Collective::all_gather,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm(shard_comm(d_, b)),
                 .stream = gather_stream(),
                 .module = b.module,
                 .when = gather_when(unit)},
                own, buffer, b.whole_elements());
}

/// A shard's copy from the host, in front of its gather and on its stream; then in the type of what
/// is gathered.
void ShardedUnits::fetch(std::size_t unit, SlotId shard, SlotId to) {
  const bool casts = d_.slot(shard).dtype != d_.slot(to).dtype;
  const SlotId fetched = !casts ? to
                                : d_.tensor_of(gather_stream(), "fetched", d_.slot(shard).elements,
                                               d_.slot(shard).dtype, Category::comm_buffers);
  d_.kernel({.kernel = Kernel::to_device,
             .dims = {d_.slot(shard).elements},
             .module = Module::offload,
             .stream = gather_stream(),
             .when = gather_when(unit)},
            {shard}, {fetched});
  if (casts) copy_to(unit, fetched, to);
}

void ShardedUnits::await(std::size_t unit) {
  const Bucket& b = parameters_.buckets()[unit];
  const DraftScope scope(d_, Phase::param_sync, layer_of(b));
  OperandList read;  // by the gather: the shards stay, what was kept from forward does not
  if (gathers_kept(b)) read.push_back(b.kept_part);
  if (gather_stream() != Stream::compute)
    d_.wait(b.gathered, Stream::compute, read, gather_when(unit));
  if (s_.units[unit].buffer != kNone) copy_out(unit);
  s_.units[unit].whole = true;
}

void ShardedUnits::copy_out(std::size_t unit) {
  Unit& u = s_.units[unit];
  const Bucket& b = parameters_.buckets()[unit];
  const When when = gather_when(unit);
  if (s_.copied_last) free_buffer(*std::exchange(s_.copied_last, std::nullopt));
  d_.take(b.weights, when);
  if (b.frozen > 0 && b.trained() && !gathers_kept(b)) {
    copy_parts_out(unit);
  } else {
    d_.kernel(
        {.kernel = Kernel::copy, .dims = {b.whole_elements()}, .module = b.module, .when = when},
        {u.buffer}, {b.weights});
  }
  u.copied = d_.event("copied_out", false);
  if (gather_stream() != Stream::compute) d_.record(u.copied, Stream::compute, when);
  // In forward the buffer stays until the next unit's copy, so that its gather overlaps this one's
  // kernels and no more than two buffers are there.
  if (s_.forward) {
    s_.copied_last = unit;
  } else {
    free_buffer(unit);
  }
}

/// One kernel (split_with_sizes_copy), which writes what is frozen and what is trained.
void ShardedUnits::copy_parts_out(std::size_t unit) {
  const Bucket& b = parameters_.buckets()[unit];
  const SlotId buffer = s_.units[unit].buffer;
  std::int64_t offset = 0;
  for (const SlotId shard : {b.frozen_shard, b.weight_shard}) {
    const std::int64_t n = d_.slot(shard).elements;
    const SlotId part = d_.slot(shard).shard_of;
    d_.kernel({.kernel = Kernel::columns_to_blocks,
               .dims = {b.ways, b.whole_elements() / b.ways, n, offset, 1},
               .module = b.module,
               .launches = offset == 0 ? 1 : 0,
               .when = gather_when(unit),
               .extra_bytes = d_.slot(part).bytes() - d_.slot(buffer).bytes()},
              {buffer}, {part});
    offset += n;
  }
}

/// Gathers issued from here on may use the buffer's memory.
void ShardedUnits::free_buffer(std::size_t unit) {
  Unit& u = s_.units[unit];
  if (gather_stream() != Stream::compute)
    d_.wait(u.copied, gather_stream(), {u.buffer}, gather_when(unit));
  u.buffer = kNone;
}

void ShardedUnits::keep_part(std::size_t unit) {
  const int ways = d_.plan().reshard_after_forward;
  if (ways <= 1) return;
  Bucket& b = parameters_.buckets()[unit];
  const std::int64_t n = b.whole_elements() / ways;
  b.kept_part = d_.tensor("kept_part", n, d_.plan().multiplied(), Category::unsharded);
  const SlotId own = d_.dp_part(b.weights, "own_part", ways);
  d_.kernel({.kernel = Kernel::copy, .dims = {n}, .module = b.module}, {own}, {b.kept_part});
  if (gather_stream() == Stream::compute) return;
  s_.units[unit].kept = d_.event("part_kept", false);
  d_.record(s_.units[unit].kept, Stream::compute);
}

void ShardedUnits::release(std::size_t unit, When when) {
  Unit& u = s_.units[unit];
  const Bucket& b = parameters_.buckets()[unit];
  u.whole = u.issued = false;
  switch (d_.rules().units.unshard) {
    case UnshardKind::copied_out:
      d_.give_back(b.weights, when);
      break;
    case UnshardKind::in_place:
      order(Stream::compute, gather_stream(), when);
      d_.give_back(b.weights, when);
      break;
    case UnshardKind::host_limited:
      u.released = d_.event("released", false);
      d_.record(u.released, Stream::compute, when);
      s_.released.push_back(unit);
      break;
  }
}

/// Gives back units let go until `at_most` are left: behind a host that waits for them, or at the
/// end of a pass behind a gather stream that does.
void ShardedUnits::free_released(std::size_t at_most) {
  while (s_.released.size() > at_most) {
    const Unit& u = s_.units[s_.released.front()];
    if (at_most > 0) {
      d_.host_sync(u.released);
    } else if (gather_stream() != Stream::compute) {
      d_.wait(u.released, gather_stream());
    }
    d_.give_back(parameters_.buckets()[s_.released.front()].weights, When::always);
    s_.released.pop_front();
  }
}

When ShardedUnits::reduce_when() const {
  return d_.plan().accumulates_whole() ? When::last_micro_batch : When::always;
}

void ShardedUnits::reduce(std::size_t unit) {
  const When when = reduce_when();
  Bucket& b = parameters_.buckets()[unit];
  if (!b.trained()) return;
  if (s_.in_flight) await_reduction(d_, parameters_.buckets()[*s_.in_flight], {.when = when});
  const DraftScope scope(d_, Phase::grad_sync, layer_of(b));
  OperandList grads;
  if (b.grads != kNone) {
    grads.push_back(d_.view(b.grads, "whole_grads", 0, b.filled));
  } else {
    for (const ParameterId id : b.parameters) {
      if (!parameters_.request(id).frozen) grads.push_back(parameters_.slots(id).grad);
    }
  }
  b.reduce_input = d_.tensor("reduce_input", b.elements, d_.plan().grads, Category::comm_buffers);
  d_.kernel({.kernel = Kernel::pack, .dims = {b.elements}, .module = b.module, .when = when}, grads,
            {b.reduce_input});
  if (b.grads != kNone) d_.give_back(b.grads, when);
  reduce_to_shard(d_, b, when);
  s_.in_flight = unit;
}

void ShardedUnits::reduce_whole_gradients() {
  for (ParameterId id = 0; id < parameters_.size(); ++id) {
    parameters_.reduce_over_tp(d_, id, When::last_micro_batch);
  }
  for (std::size_t unit = s_.units.size(); unit-- > 0;) {
    if (stays(unit)) release(unit, When::last_micro_batch);
    reduce(unit);
  }
  await_last_reduction();
}

}  // namespace windtunnel
