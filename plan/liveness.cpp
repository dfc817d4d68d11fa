#include "plan/liveness.h"

#include <unordered_map>
#include <utility>

#include "program/slot_part.h"

namespace windtunnel {

namespace {

struct Place {
  std::size_t segment = 0, op = 0;
};

struct Life {
  Place first, last;
  When when = When::always;  // of all its uses; `always` when they differ
};

DraftOp memory_op(const RoleDraft& d, OpKind kind, const std::pair<SlotId, When>& slot_when,
                  const Op& near) {
  const auto& [slot, when] = slot_when;
  DraftOp op;
  op.op = {.kind = kind,
           .stream = d.slot(slot).pool,
           .phase = near.phase,
           .module = near.module,
           .when = when,
           .layer = d.slot(slot).layer};
  op.operands = {slot};
  return op;
}

}  // namespace

namespace {

/// Lives of the slots of one path, and the order of their first uses.
struct PathLives {
  std::unordered_map<SlotId, Life> lives;
  std::vector<SlotId> order;
};

PathLives lives_of(const RoleDraft& d, const SegmentPath& path) {
  PathLives result;
  for (std::size_t s = 0; s < path.size(); ++s) {
    for (std::size_t i = 0; i < path[s]->ops.size(); ++i) {
      const DraftOp& op = path[s]->ops[i];
      auto use = [&](SlotId id) {
        const SlotId root = root_of(d.role, id);
        const Slot& slot = d.slot(root);
        // What is handed over lives and dies with the chunk that gets it.
        const bool foreign = slot.chunk != d.chunk;
        if (slot.space == Space::statics || foreign || d.placed_by_hand.contains(root)) return;
        const When when = op.op.when;
        const auto [it, added] =
            result.lives.try_emplace(root, Life{.first = {s, i}, .last = {s, i}, .when = when});
        if (added) result.order.push_back(root);
        it->second.last = {s, i};
        if (when != it->second.when) it->second.when = When::always;
      };
      for (const SlotId id : op.operands) use(id);
      for (const SlotId id : op.holds) use(id);
    }
  }
  return result;
}

/// Memory ops to stand before and after each op of a segment; each slot once.
struct MemoryOps {
  using Slots = std::vector<std::pair<SlotId, When>>;
  std::vector<Slots> takes, gives;

  static void add(Slots& slots, SlotId id, When when) {
    for (const auto& [known, unused] : slots) {
      if (known == id) return;
    }
    slots.emplace_back(id, when);
  }
};

}  // namespace

void insert_allocations(RoleDraft& d, const std::vector<SegmentPath>& paths) {
  std::unordered_map<SegmentDraft*, MemoryOps> memory;
  for (const SegmentPath& path : paths) {
    for (SegmentDraft* segment : path) {
      memory[segment].takes.resize(segment->ops.size());
      memory[segment].gives.resize(segment->ops.size());
    }
    const PathLives all = lives_of(d, path);
    for (const SlotId id : all.order) {
      const Life& life = all.lives.at(id);
      const bool elsewhere = d.taken_elsewhere.contains(id);
      const bool framed = elsewhere || life.first.segment != life.last.segment;
      Space& space = d.slot(id).space;
      // Scratch on one path, a frame's on another: a frame's.
      if (space != Space::frame) space = framed ? Space::frame : Space::scratch;
      if (!elsewhere) {
        MemoryOps::add(memory[path[life.first.segment]].takes[life.first.op], id, life.when);
      }
      MemoryOps::add(memory[path[life.last.segment]].gives[life.last.op], id, life.when);
    }
  }
  for (auto& [segment, add] : memory) {
    std::vector<DraftOp> ops;
    for (std::size_t i = 0; i < segment->ops.size(); ++i) {
      const DraftOp& op = segment->ops[i];
      for (const auto& id : add.takes[i]) ops.push_back(memory_op(d, OpKind::alloc, id, op.op));
      ops.push_back(op);
      for (const auto& id : add.gives[i]) ops.push_back(memory_op(d, OpKind::free, id, op.op));
    }
    segment->ops = std::move(ops);
  }
  for (Slot& slot : d.role.slots) {  // views live where their parent does
    if (slot.parent != kNone) slot.space = d.slot(root_of(d.role, slot.parent)).space;
  }
}

}  // namespace windtunnel
