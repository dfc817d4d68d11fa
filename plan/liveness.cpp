#include "plan/liveness.h"

#include <unordered_map>
#include <utility>

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

SlotId root_of(const RoleDraft& d, SlotId id) {
  while (d.slot(id).parent != kNone) id = d.slot(id).parent;
  return id;
}

}  // namespace

void insert_allocations(RoleDraft& d, const std::vector<SegmentDraft*>& segments) {
  std::unordered_map<SlotId, Life> lives;
  std::vector<SlotId> order;  // in order of first use: the order of allocation
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (std::size_t i = 0; i < segments[s]->ops.size(); ++i) {
      auto use = [&](SlotId id) {
        const SlotId root = root_of(d, id);
        if (d.slot(root).space == Space::statics || d.placed_by_hand.contains(root)) return;
        const When when = segments[s]->ops[i].op.when;
        const auto [it, added] =
            lives.try_emplace(root, Life{.first = {s, i}, .last = {s, i}, .when = when});
        if (added) order.push_back(root);
        it->second.last = {s, i};
        if (when != it->second.when) it->second.when = When::always;
      };
      for (const SlotId id : segments[s]->ops[i].operands) use(id);
      for (const SlotId id : segments[s]->ops[i].holds) use(id);
    }
  }
  using Slots = std::vector<std::pair<SlotId, When>>;
  std::vector<std::vector<Slots>> takes(segments.size()), gives(segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    takes[s].resize(segments[s]->ops.size());
    gives[s].resize(segments[s]->ops.size());
  }
  for (const SlotId id : order) {
    const Life& life = lives.at(id);
    d.slot(id).space = life.first.segment == life.last.segment ? Space::scratch : Space::frame;
    takes[life.first.segment][life.first.op].emplace_back(id, life.when);
    gives[life.last.segment][life.last.op].emplace_back(id, life.when);
  }
  for (std::size_t s = 0; s < segments.size(); ++s) {
    std::vector<DraftOp> ops;
    for (std::size_t i = 0; i < segments[s]->ops.size(); ++i) {
      const DraftOp& op = segments[s]->ops[i];
      for (const auto& id : takes[s][i]) ops.push_back(memory_op(d, OpKind::alloc, id, op.op));
      ops.push_back(op);
      for (const auto& id : gives[s][i]) ops.push_back(memory_op(d, OpKind::free, id, op.op));
    }
    segments[s]->ops = std::move(ops);
  }
  for (Slot& slot : d.role.slots) {  // views live where their parent does
    if (slot.parent != kNone) slot.space = d.slot(root_of(d, slot.parent)).space;
  }
}

}  // namespace windtunnel
