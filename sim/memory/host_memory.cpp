#include "sim/memory/host_memory.h"

#include <algorithm>
#include <vector>

namespace windtunnel {

namespace {

/// What a call's ops change, and how far they reach above what was held before it.
struct Change {
  std::int64_t net = 0, peak = 0;
  bool known = false;
};

Change change_of(const Program& program, const Role& role, const Call& call, int step) {
  Change change{.known = true};
  for (const Op& op : program.ops_of(call)) {
    if ((op.kind != OpKind::alloc && op.kind != OpKind::free) || !runs(op, call, step)) continue;
    const Slot& slot = role.slots[program.operands(op).front()];
    if (!slot.host) continue;
    change.net += op.kind == OpKind::alloc ? slot.bytes() : -slot.bytes();
    change.peak = std::max(change.peak, change.net);
  }
  return change;
}

}  // namespace

std::int64_t peak_host_bytes(const Program& program, const Role& role) {
  const bool any =
      std::any_of(role.slots.begin(), role.slots.end(), [](const Slot& slot) { return slot.host; });
  if (!any) return 0;
  std::int64_t held = 0, peak = 0;
  constexpr std::size_t kCallKinds = 4;  // first and last micro-batch
  for (int step = -1; step < 2; ++step) {
    const std::vector<Call>& calls = step < 0 ? role.prologue : role.calls;
    std::vector<Change> changes(program.segments.size() * kCallKinds);
    for (const Call& call : calls) {
      const std::size_t kind =
          (call.first_micro_batch ? 1U : 0U) + (call.last_micro_batch ? 2U : 0U);
      Change& change = changes[call.segment * kCallKinds + kind];
      if (!change.known) change = change_of(program, role, call, std::max(step, 0));
      peak = std::max(peak, held + change.peak);
      held += change.net;
    }
  }
  return peak;
}

}  // namespace windtunnel
