#include "plan/sharded_units.h"

#include <algorithm>

#include "core/check.h"
#include "plan/bucket_reduction.h"

namespace windtunnel {

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
