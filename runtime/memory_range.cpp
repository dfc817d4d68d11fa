#include "runtime/memory_range.h"

namespace windtunnel {

std::string slot_name(const Program& program, const Role& role, SlotId id) {
  return "slot '" + program.names[role.slots[id].name] + "' (#" + std::to_string(id) + ")";
}

MemoryRange resolve_range(const Program& program, const Role& role, const Coordinates& at,
                          const SlotUse& use) {
  std::int64_t begin = 0;
  SlotId root = use.slot;
  while (role.slots[root].parent != kNone) {
    const Slot& view = role.slots[root];
    begin += offset_of(program.mesh, view, at);
    root = view.parent;
  }
  const MemoryRange range{
      .root = root,
      .micro_batch = role.slots[root].space == Space::frame ? use.micro_batch : -1,
      .begin = begin,
      .end = begin + role.slots[use.slot].elements};
  if (range.begin < 0 || range.end > role.slots[root].elements) {
    throw ExecutionError(slot_name(program, role, use.slot) + " reaches beyond " +
                         slot_name(program, role, root));
  }
  return range;
}

}  // namespace windtunnel
