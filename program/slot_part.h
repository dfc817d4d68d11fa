#pragma once
// What of a tensor an operand names.

#include <cstdint>

#include "program/mesh.h"

namespace windtunnel {

/// The slot whose memory a view lies in; itself where it is none.
inline SlotId root_of(const Role& role, SlotId id) {
  while (role.slots[id].parent != kNone) id = role.slots[id].parent;
  return id;
}

/// Part of a root, over all ranks: views whose place depends on the rank span all their places.
struct SlotPart {
  SlotId root = 0;
  std::int64_t begin = 0, end = 0;  // elements

  bool overlaps(const SlotPart& other) const {
    return root == other.root && begin < other.end && other.begin < end;
  }
};

inline SlotPart part_of(const Mesh& mesh, const Role& role, SlotId id) {
  SlotPart part{.root = id, .begin = 0, .end = role.slots[id].elements};
  while (role.slots[part.root].parent != kNone) {
    const Slot& view = role.slots[part.root];
    part.begin += view.offset;
    part.end += last_offset_of(mesh, view);
    part.root = view.parent;
  }
  return part;
}

}  // namespace windtunnel
