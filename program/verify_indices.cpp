// Does every index point into its table?

#include <fmt/format.h>

#include "program/mesh.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

void check_segments(const Program& p, Violations& v) {
  for (std::size_t s = 0; s < p.segments.size(); ++s) {
    const Segment& segment = p.segments[s];
    if (segment.op_begin > segment.op_end || segment.op_end > p.ops.size())
      v.add(fmt::format("segment {} spans ops {} to {} of {}", s, segment.op_begin, segment.op_end,
                        p.ops.size()));
  }
}

/// What is wrong with the op by itself; null when nothing.
const char* bad_index(const Program& p, const Op& op) {
  const bool transfer = is_message(op.kind);
  if (std::size_t{op.ref_begin} + op.refs > p.refs.size()) return "operands outside the list";
  if (op.inputs > op.refs) return "more inputs than operands";
  if (op.kind == OpKind::compute && op.shape >= p.shapes.size()) return "no shape";
  if ((op.kind == OpKind::collective || transfer) && op.comm >= p.comms.size())
    return "no communicator";
  if (op.kind == OpKind::collective && op.refs != 2)
    return "a collective has an input and an output";
  if ((op.kind == OpKind::alloc || op.kind == OpKind::free || transfer) && op.refs != 1)
    return "one operand is needed";
  if (transfer && (op.peer < 0 || static_cast<std::size_t>(op.peer) >= p.roles.size()))
    return "no such peer";
  if (op.stream >= Stream::count) return "no such stream";
  return nullptr;
}

/// Events and slots of the segments a role calls.
void check_segment(const Program& p, std::size_t role, const Call& call, Violations& v) {
  const Role& r = p.roles[role];
  const Segment& segment = p.segments[call.segment];
  for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
    const Op& op = p.ops[i];
    const bool names_event =
        op.kind == OpKind::record || op.kind == OpKind::wait || op.kind == OpKind::host_sync;
    bool bad = names_event && op.event >= r.events.size();
    if (names_event && !bad && r.events[op.event].per_frame && call.chunk < 0)
      v.add(fmt::format("role {} segment {} op {} names an event of a frame; its call has none",
                        role, call.segment, i - segment.op_begin));
    for (const SlotId id : p.operands(op)) bad |= id >= r.slots.size();
    if (bad)
      v.add(fmt::format("role {} segment {} op {} names a slot or an event its role has not", role,
                        call.segment, i - segment.op_begin));
  }
}

void check_calls_of(const Program& p, std::size_t role, Violations& v) {
  const Role& r = p.roles[role];
  constexpr std::int16_t kUnseen = -2;
  std::vector<std::int16_t> chunk_of(p.segments.size(), kUnseen);
  const auto check_call = [&](const Call& call) {
    const bool chunk_ok = call.chunk < static_cast<int>(r.chunks.size());
    const bool batch_ok =
        call.chunk < 0 || (call.micro_batch >= 0 && call.micro_batch < p.job.micro_batches);
    if (call.segment >= p.segments.size() || !chunk_ok || !batch_ok) {
      v.add(fmt::format("role {}: a call of segment {}, chunk {}, micro-batch {}", role,
                        call.segment, call.chunk, call.micro_batch));
    } else if (chunk_of[call.segment] == kUnseen) {
      chunk_of[call.segment] = call.chunk;
      check_segment(p, role, call, v);
    } else if (chunk_of[call.segment] != call.chunk) {
      v.add(fmt::format("role {}: segment {} is called for chunk {} and for chunk {}", role,
                        call.segment, chunk_of[call.segment], call.chunk));
    }
  };
  for (const Call& call : r.prologue) check_call(call);
  for (const Call& call : r.calls) check_call(call);
}

/// Whether the slot's elements times the ranks of its dp part are those of what it is a shard of;
/// on the host it may hold some of them.
bool is_shard(const Program& p, const Role& r, const Slot& slot) {
  if (slot.shard_of >= r.slots.size() || slot.parent != kNone) return false;
  const std::int64_t part = r.slots[slot.shard_of].elements / dp_ways(p.mesh, slot);
  if (slot.host) return slot.offset >= 0 && slot.offset + slot.elements <= part;
  return slot.offset == 0 &&
         slot.elements * dp_ways(p.mesh, slot) == r.slots[slot.shard_of].elements;
}

void check_slots(const Program& p, std::size_t role, Violations& v) {
  const Role& r = p.roles[role];
  for (SlotId id = 0; id < r.slots.size(); ++id) {
    const Slot& slot = r.slots[id];
    // A parent stands before its views, so chains end.
    if (slot.parent != kNone && slot.parent >= id)
      v.add(fmt::format("role {} slot {} is a view of {}, which is not before it", role, id,
                        slot.parent));
    if (slot.param != kNone && slot.param >= p.params.size())
      v.add(fmt::format("role {} slot {} has no parameter {}", role, id, slot.param));
    if (slot.shard_of != kNone && !is_shard(p, r, slot))
      v.add(fmt::format("role {} slot {} is no shard of {}", role, id, slot.shard_of));
    if (slot.chunk >= static_cast<int>(r.chunks.size()))
      v.add(fmt::format("role {} slot {} has no chunk {}", role, id, slot.chunk));
  }
}

}  // namespace

std::vector<std::string> find_bad_indices(const Program& p) {
  Violations v;
  if (p.job.model_copies < 1 || p.job.micro_batches % p.job.model_copies != 0)
    v.add(fmt::format("{} micro-batches for {} copies of the model", p.job.micro_batches,
                      p.job.model_copies));
  check_segments(p, v);
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    if (const char* why = bad_index(p, p.ops[i])) v.add(fmt::format("op {}: {}", i, why));
  }
  std::vector<std::string> found = v.take();
  if (!found.empty()) return found;
  for (std::size_t r = 0; r < p.roles.size(); ++r) {
    for (const Chunk& chunk : p.roles[r].chunks) {
      if (chunk.copy < 0 || chunk.copy >= p.job.model_copies)
        v.add(fmt::format("role {}: a chunk of copy {} of the model", r, chunk.copy));
    }
    check_slots(p, r, v);
    check_calls_of(p, r, v);
  }
  return v.take();
}

}  // namespace windtunnel
