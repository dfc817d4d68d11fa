#include "program/sync_ops.h"

#include "program/event_uses.h"

namespace windtunnel {

namespace {

std::vector<RegisterNeed> needs_of(const EventUses& uses, const Role& role) {
  std::vector<RegisterNeed> needs(role.events.size());
  for (std::uint32_t e = 0; e < needs.size(); ++e)
    needs[e] = uses.is_idle(e) || uses.only_joins(e) ? RegisterNeed::none : uses.need(e);
  return needs;
}

}  // namespace

Channel channel_of(const Op& op, std::size_t role) {
  const int here = static_cast<int>(role);
  return op.kind == OpKind::send ? Channel{op.comm, here, op.peer}
                                 : Channel{op.comm, op.peer, here};
}

std::uint32_t ChannelTable::number_of(const Channel& channel) {
  return numbers_.try_emplace(channel, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

RoleSyncOps sync_ops_of(const ProgramFacts& facts, std::size_t role, ChannelTable& channels) {
  const Program& p = facts.program;
  const EventUses uses(facts, role);
  const EventRegisters registers = number_registers(facts, role, needs_of(uses, p.roles[role]));
  RoleSyncOps result{.registers = registers.count};
  for (const CallVariant& variant : facts.roles[role].variants) {
    const auto begin = static_cast<std::uint32_t>(result.ops.size());
    const Segment& segment = p.segments[variant.call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = p.ops[i];
      const bool keeps = names_event(op) ? !uses.is_idle(op.event) : meets_another_role(p, op);
      const bool joins = names_event(op) && uses.only_joins(op.event);
      if (!keeps || (joins && op.kind == OpKind::record) || !runs(op, variant.call, 1)) continue;
      SyncOp sync{.kind = op.kind, .stream = op.stream, .grouped = op.grouped, .op = i};
      if (joins) {
        sync.joins = true;
        sync.joined = p.ops[i - 1].stream;
      } else if (names_event(op)) {
        sync.event = registers.places[op.event];
      } else {
        sync.channel =
            op.kind == OpKind::collective ? op.comm : channels.number_of(channel_of(op, role));
      }
      result.ops.push_back(sync);
    }
    result.of_variant.push_back({begin, static_cast<std::uint32_t>(result.ops.size())});
  }
  return result;
}

}  // namespace windtunnel
