#include "plan/liveness.h"

#include <unordered_map>

namespace windtunnel {

namespace {

struct Place {
  std::size_t segment = 0, op = 0;
};

struct Life {
  Place first, last;
};

DraftOp memory_op(const RoleDraft& d, OpKind kind, SlotId slot, const Op& near) {
  DraftOp op;
  op.op = {.kind = kind,
           .stream = d.slot(slot).pool,
           .phase = near.phase,
           .module = near.module,
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
        if (d.slot(root).space == Space::statics) return;
        const auto [it, added] = lives.try_emplace(root, Life{.first = {s, i}, .last = {s, i}});
        if (added) order.push_back(root);
        it->second.last = {s, i};
      };
      for (const SlotId id : segments[s]->ops[i].operands) use(id);
      for (const SlotId id : segments[s]->ops[i].holds) use(id);
    }
  }
  std::vector<std::vector<std::vector<SlotId>>> takes(segments.size()), gives(segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    takes[s].resize(segments[s]->ops.size());
    gives[s].resize(segments[s]->ops.size());
  }
  for (const SlotId id : order) {
    const Life& life = lives.at(id);
    d.slot(id).space = life.first.segment == life.last.segment ? Space::scratch : Space::frame;
    takes[life.first.segment][life.first.op].push_back(id);
    gives[life.last.segment][life.last.op].push_back(id);
  }
  for (std::size_t s = 0; s < segments.size(); ++s) {
    std::vector<DraftOp> ops;
    for (std::size_t i = 0; i < segments[s]->ops.size(); ++i) {
      const DraftOp& op = segments[s]->ops[i];
      for (const SlotId id : takes[s][i]) ops.push_back(memory_op(d, OpKind::alloc, id, op.op));
      ops.push_back(op);
      for (const SlotId id : gives[s][i]) ops.push_back(memory_op(d, OpKind::free, id, op.op));
    }
    segments[s]->ops = std::move(ops);
  }
  for (Slot& slot : d.role.slots) {  // views live where their parent does
    if (slot.parent != kNone) slot.space = d.slot(root_of(d, slot.parent)).space;
  }
}

}  // namespace windtunnel
