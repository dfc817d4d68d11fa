#include "program/event_uses.h"

namespace windtunnel {

namespace {

constexpr unsigned kHost = 1u << static_cast<unsigned>(Stream::count);  // beside a bit per stream

unsigned bit_of(Stream s) {
  return 1u << static_cast<unsigned>(s);
}

}  // namespace

bool names_event(const Op& op) {
  return op.kind == OpKind::record || op.kind == OpKind::wait || op.kind == OpKind::host_sync;
}

bool meets_another_role(const Program& program, const Op& op) {
  return is_message(op.kind) ||
         (op.kind == OpKind::collective && spans_roles(program.comms[op.comm]));
}

EventUses::EventUses(const ProgramFacts& facts, std::size_t role)
    : facts_(facts),
      role_(role),
      uses_(facts.program.roles[role].events.size()),
      recorded_(uses_.size(), 0),
      recorded_at_(uses_.size(), 0) {
  for (const CallVariant& variant : facts.roles[role].variants) scan(variant);
  find_followers();
}

bool EventUses::is_idle(std::uint32_t event) const {
  const Use& use = uses_[event];
  return use.within_segments && ((use.recorded_on | use.waited_by) & ~followers_) == 0;
}

RegisterNeed EventUses::need(std::uint32_t event) const {
  const bool per_frame = facts_.program.roles[role_].events[event].per_frame;
  return per_frame && !uses_[event].within_segments ? RegisterNeed::per_frame : RegisterNeed::one;
}

void EventUses::scan(const CallVariant& variant) {
  const Program& p = facts_.program;
  const Segment& segment = p.segments[variant.call.segment];
  ++pass_;
  for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
    const Op& op = p.ops[i];
    if (!runs(op, variant.call, 1)) continue;
    if (meets_another_role(p, op)) blocking_ |= bit_of(op.stream);
    if (!names_event(op)) continue;
    Use& use = uses_[op.event];
    if (op.kind == OpKind::record) {
      use.recorded_on |= bit_of(op.stream);
      recorded_[op.event] = pass_;
      recorded_at_[op.event] = i;
    } else {
      use.waited_by |= op.kind == OpKind::wait ? bit_of(op.stream) : kHost;
      use.within_segments &= recorded_[op.event] == pass_;
      use.only_joins &= use.within_segments && op.kind == OpKind::wait &&
                        recorded_at_[op.event] + 1 == i && op.when == p.ops[i - 1].when;
    }
  }
}

void EventUses::find_followers() {
  const unsigned compute = bit_of(Stream::compute);
  followers_ = (kHost - 1) & ~(blocking_ & ~compute);
  for (unsigned before = 0; before != followers_;) {
    before = followers_;
    for (const Use& use : uses_) {
      // A wait across the border makes the follower of the two a stream of its own.
      if ((use.recorded_on & ~followers_) != 0) followers_ &= ~(use.waited_by & ~compute);
      if ((use.waited_by & ~followers_) != 0) followers_ &= ~(use.recorded_on & ~compute);
    }
  }
}

}  // namespace windtunnel
