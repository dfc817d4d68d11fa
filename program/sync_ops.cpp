#include "program/sync_ops.h"

#include <array>

namespace windtunnel {

namespace {

constexpr unsigned kHost = 1u << 8;  // beside one bit per stream

unsigned bit_of(Stream s) {
  return 1u << static_cast<unsigned>(s);
}

bool names_event(const Op& op) {
  return op.kind == OpKind::record || op.kind == OpKind::wait || op.kind == OpKind::host_sync;
}

bool meets_another_role(const Program& p, const Op& op) {
  return op.kind == OpKind::send || op.kind == OpKind::recv ||
         (op.kind == OpKind::collective && spans_roles(p.comms[op.comm]));
}

struct EventUse {
  unsigned recorded_on = 0, waited_by = 0;  // stream bits, kHost
  bool within_segments = true;              // every wait has its record before it in its segment
};

/// Who records and waits for each event of a role, and which streams can block.
class EventUses {
 public:
  EventUses(const ProgramFacts& facts, std::size_t role)
      : facts_(facts),
        role_(role),
        uses_(facts.program.roles[role].events.size()),
        recorded_(uses_.size(), 0) {
    for (const CallVariant& variant : facts.roles[role].variants) scan(variant);
    find_followers();
  }

  /// Whether a dry run may leave the event out.
  bool is_idle(std::uint32_t event) const {
    const EventUse& use = uses_[event];
    return use.within_segments && ((use.recorded_on | use.waited_by) & ~followers_) == 0;
  }

 private:
  void scan(const CallVariant& variant) {
    const Program& p = facts_.program;
    const Segment& segment = p.segments[variant.call.segment];
    ++pass_;
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = p.ops[i];
      if (!runs(op, variant.call, 1)) continue;
      if (meets_another_role(p, op)) blocking_ |= bit_of(op.stream);
      if (!names_event(op)) continue;
      EventUse& use = uses_[op.event];
      if (op.kind == OpKind::record) {
        use.recorded_on |= bit_of(op.stream);
        recorded_[op.event] = pass_;
      } else {
        use.waited_by |= op.kind == OpKind::wait ? bit_of(op.stream) : kHost;
        use.within_segments &= recorded_[op.event] == pass_;
      }
    }
  }

  /// The compute stream and the streams that, in the end, wait for it alone and that only it and
  /// they wait for.
  void find_followers() {
    followers_ = (kHost - 1) & ~(blocking_ & ~bit_of(Stream::compute));
    for (unsigned before = 0; before != followers_;) {
      before = followers_;
      for (const EventUse& use : uses_) {
        // Waits across the border make the follower of the two a stream of its own.
        if ((use.recorded_on & ~followers_) != 0)
          followers_ &= ~(use.waited_by & ~bit_of(Stream::compute));
        if ((use.waited_by & ~followers_) != 0)
          followers_ &= ~(use.recorded_on & ~bit_of(Stream::compute));
      }
    }
  }

  const ProgramFacts& facts_;
  std::size_t role_;
  std::vector<EventUse> uses_;
  std::vector<std::uint32_t> recorded_;  // by event: pass of its last record
  std::uint32_t pass_ = 0;
  unsigned blocking_ = 0;
  unsigned followers_ = 0;
};

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
  const EventRegisters registers = number_registers(facts, role);
  RoleSyncOps result{.registers = registers.count};
  for (const CallVariant& variant : facts.roles[role].variants) {
    const auto begin = static_cast<std::uint32_t>(result.ops.size());
    const Segment& segment = p.segments[variant.call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = p.ops[i];
      const bool keeps = names_event(op) ? !uses.is_idle(op.event) : meets_another_role(p, op);
      if (!keeps || !runs(op, variant.call, 1)) continue;
      SyncOp sync{.kind = op.kind, .stream = op.stream, .grouped = op.grouped, .op = i};
      if (names_event(op)) {
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
