#include "tests/closed_form/saved_tensors.h"

#include <algorithm>
#include <string>
#include <vector>

#include "program/verify_facts.h"

namespace windtunnel::closed_form {

namespace {

SlotId root_of(const Role& role, SlotId id) {
  while (role.slots[id].parent != kNone) id = role.slots[id].parent;
  return id;
}

/// By slot: memory that waits for a transfer rather than for backward.
std::vector<bool> sent_slots(const Program& program, const Role& role) {
  std::vector<bool> sent(role.slots.size(), false);
  for (const Call& call : role.calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.kind == OpKind::send) sent[root_of(role, program.operands(op)[0])] = true;
    }
  }
  return sent;
}

/// By slot: whether it waits for backward. A layer keeps its own slots and the input that an
/// embedding made; what another stage sent is taken before it is used (`received_input`).
std::vector<bool> saved_slots(const Program& program, const Role& role) {
  std::vector<bool> saved = sent_slots(program, role);
  for (SlotId id = 0; id < role.slots.size(); ++id) {
    const Slot& slot = role.slots[id];
    const bool of_layers = slot.layer >= 0 || program.names[slot.name] == "embedding";
    saved[id] = !saved[id] && of_layers && slot.space == Space::frame && slot.parent == kNone;
  }
  return saved;
}

/// Bytes of what a chunk receives for its forward.
std::int64_t received_input(const Program& program, const Role& role, std::int16_t chunk) {
  std::int64_t bytes = 0;
  for (const Slot& slot : role.slots) {
    if (slot.chunk == chunk && program.names[slot.name] == "input") bytes += slot.bytes();
  }
  return bytes;
}

}  // namespace

std::int64_t saved_layer_bytes(const Role& role, int layer, NormStats stats) {
  std::int64_t bytes = 0;
  for (const Slot& slot : role.slots) {
    const bool counted = stats == NormStats::counted || slot.category != Category::norm_stats;
    if (slot.space == Space::frame && slot.parent == kNone && slot.layer == layer && counted)
      bytes += slot.bytes();
  }
  return bytes;
}

std::int64_t peak_saved_bytes(const Program& program, std::size_t role_index) {
  const Role& role = program.roles[role_index];
  const ProgramFacts facts(program);
  const std::vector<bool> saved = saved_slots(program, role);
  std::int64_t alive = 0, peak = 0;
  for (const Call& call : role.calls) {
    const unsigned actions = facts.segments[call.segment].actions;
    if ((actions & kForward) != 0) alive += received_input(program, role, call.chunk);
    if ((actions & kBackward) != 0) {
      peak = std::max(peak, alive);
      alive -= received_input(program, role, call.chunk);
    }
    for (const Op& op : program.ops_of(call)) {
      if (op.kind != OpKind::alloc && op.kind != OpKind::free) continue;
      const SlotId id = program.operands(op)[0];
      if (!saved[id]) continue;
      const std::int64_t bytes = role.slots[id].bytes();
      alive += op.kind == OpKind::alloc ? bytes : -bytes;
    }
  }
  return peak;
}

}  // namespace windtunnel::closed_form
