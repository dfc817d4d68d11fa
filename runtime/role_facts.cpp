#include "runtime/role_facts.h"

#include <algorithm>

#include "core/check.h"
#include "program/event_uses.h"

namespace windtunnel {

EventRegisters registers_of(const Program& program, const Role& role) {
  const ProgramFacts facts(program);
  const auto index = static_cast<std::size_t>(&role - program.roles.data());
  const EventUses uses(facts, index);
  std::vector<RegisterNeed> needs;
  for (std::uint32_t e = 0; e < role.events.size(); ++e) needs.push_back(uses.need(e));
  return number_registers(facts, index, needs);
}

const Role& role_at(const Program& program, const Coordinates& at) {
  const auto found = std::find_if(program.roles.begin(), program.roles.end(),
                                  [&](const Role& role) { return role.pipeline_rank == at.pp; });
  CHECK(found != program.roles.end(), "every pipeline rank has a role");
  return *found;
}

bool is_transfer(const Op& op) {
  return op.kind == OpKind::collective || is_message(op.kind);
}

WireKind transfer_kind(const Op& op) {
  if (op.kind == OpKind::send) return WireKind::send;
  if (op.kind == OpKind::recv) return WireKind::recv;
  switch (op.collective) {
    case Collective::all_reduce:
      return WireKind::all_reduce;
    case Collective::all_gather:
      return WireKind::all_gather;
    case Collective::reduce_scatter:
      return WireKind::reduce_scatter;
    case Collective::all_to_all:
      return WireKind::all_to_all;
    case Collective::ring_shift:
      return WireKind::ring_shift;
    case Collective::broadcast:
      break;
  }
  return WireKind::broadcast;
}

std::optional<SlotId> loss_slot_of(const Program& program, const Role& role) {
  for (const Call& call : role.calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.kind != OpKind::compute || program.shapes[op.shape].kernel != Kernel::ce_loss)
        continue;
      return program.operands(op).back();
    }
  }
  return std::nullopt;
}

}  // namespace windtunnel
