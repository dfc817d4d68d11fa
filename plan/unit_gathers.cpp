#include "plan/sharded_units.h"

// How a unit of sharded weights becomes whole.

#include "plan/bucket_reduction.h"
#include "plan/host_copy.h"

namespace windtunnel {

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
  if (g.ways > 1) all_gather(unit, g.comm, own, g.whole);
}

void ShardedUnits::all_gather(std::size_t unit, const char* comm, SlotId own, SlotId whole) {
  d_.collective({.collective = Collective::all_gather,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm(comm),
                 .stream = gather_stream(),
                 .module = parameters_.buckets()[unit].module,
                 .when = gather_when(unit)},
                own, whole, d_.slot(whole).elements);
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
  all_gather(unit, shard_comm(d_, b), own, buffer);
}

/// A shard's copy from the host, in front of its gather and on its stream; then in the type of what
/// is gathered.
void ShardedUnits::fetch(std::size_t unit, SlotId shard, SlotId to) {
  const bool casts = d_.slot(shard).dtype != d_.slot(to).dtype;
  const SlotId fetched = !casts ? to
                                : d_.tensor_of(gather_stream(), "fetched", d_.slot(shard).elements,
                                               d_.slot(shard).dtype, Category::comm_buffers);
  copy_across(d_,
              {.kernel = Kernel::to_device, .stream = gather_stream(), .when = gather_when(unit)},
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

}  // namespace windtunnel
