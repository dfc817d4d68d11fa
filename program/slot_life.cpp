#include "program/slot_life.h"

#include <fmt/format.h>

namespace windtunnel {

SlotLives::SlotLives(const ProgramFacts& facts, std::size_t role)
    : facts_(facts), role_(role), states_(facts.program.roles[role].slots.size(), kUntouched) {}

SegmentLife SlotLives::run(const Call& call, int step, Violations& v) {
  const Program& p = facts_.program;
  const Role& role = p.roles[role_];
  const Segment& segment = p.segments[call.segment];
  segment_ = call.segment;
  touched_.clear();
  for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
    const Op& op = p.ops[i];
    if (!runs(op, call, step)) continue;
    for (const SlotId id : p.operands(op)) {
      if (op.kind == OpKind::alloc) {
        take(id, i, v);
      } else if (op.kind == OpKind::free) {
        give_back(id, i, v);
      } else {
        use(facts_.roles[role_].roots[id], i, v);
      }
    }
  }
  SegmentLife life;
  for (const Touched& t : touched_) {
    const bool live = states_[t.slot] == kTaken || states_[t.slot] == kNeeded;
    states_[t.slot] = kUntouched;
    if (role.slots[t.slot].space != Space::scratch) {
      life.effects.push_back({t.slot, t.op, t.needs, live});
    } else if (live && !t.needs) {
      report("is scratch and not given back", t.slot, t.op, v);
    }
  }
  return life;
}

void SlotLives::touch(SlotId slot, std::uint32_t op) {
  touched_.push_back({slot, op, states_[slot] == kNeeded});
}

void SlotLives::take(SlotId slot, std::uint32_t op, Violations& v) {
  if (facts_.roles[role_].roots[slot] != slot) {
    report("is a view and has no memory to take", slot, op, v);
  } else if (states_[slot] == kUntouched) {
    states_[slot] = kTaken;
    touch(slot, op);
  } else {
    report("is taken a second time", slot, op, v);
    states_[slot] = kTaken;
  }
}

void SlotLives::give_back(SlotId slot, std::uint32_t op, Violations& v) {
  if (facts_.roles[role_].roots[slot] != slot) {
    report("is a view and has no memory to give back", slot, op, v);
    return;
  }
  use(slot, op, v);
  if (states_[slot] == kTaken || states_[slot] == kNeeded) states_[slot] = kGivenBack;
}

void SlotLives::use(SlotId slot, std::uint32_t op, Violations& v) {
  if (states_[slot] == kGivenBack) {
    report("is used after it was given back", slot, op, v);
  } else if (states_[slot] == kUntouched) {
    states_[slot] = kNeeded;
    touch(slot, op);
    if (facts_.program.roles[role_].slots[slot].space == Space::scratch)
      report("is scratch and used before it is taken", slot, op, v);
  }
}

void SlotLives::report(const char* what, SlotId slot, std::uint32_t op, Violations& v) const {
  const Program& p = facts_.program;
  v.add(fmt::format("{}: {} {}", segment_op_text(p, role_, segment_, op),
                    slot_text(p, p.roles[role_], slot), what));
}

}  // namespace windtunnel
