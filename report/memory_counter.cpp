#include "report/memory_counter.h"

namespace windtunnel {

namespace {

// A steady-state step: what only the first step does is over.
constexpr int kStep = 1;

}  // namespace

MemoryCounter::MemoryCounter(const Program& program, const Role& role)
    : program_(program), role_(role) {
  for (const Call& call : role.prologue) {
    for (const Op& op : program.ops_of(call)) {
      if (runs(op, call, kStep)) apply(op);
    }
  }
  if (!role.calls.empty()) op_ = program.segments[role.calls.front().segment].op_begin;
}

void MemoryCounter::advance(std::uint32_t call, std::uint32_t op_end) {
  while (call_ < role_.calls.size()) {
    const Call& current = role_.calls[call_];
    const std::uint32_t end = call_ == call ? op_end : program_.segments[current.segment].op_end;
    for (; op_ < end; ++op_) {
      const Op& op = program_.ops[op_];
      if (runs(op, current, kStep)) apply(op);
    }
    if (call_ >= call) return;
    ++call_;
    if (call_ < role_.calls.size()) op_ = program_.segments[role_.calls[call_].segment].op_begin;
  }
}

void MemoryCounter::apply(const Op& op) {
  if (op.kind != OpKind::alloc && op.kind != OpKind::free) return;
  const Slot& slot = role_.slots[program_.operands(op).front()];
  if (slot.host) return;
  std::int64_t& held = bytes_[static_cast<std::size_t>(slot.category)];
  held += op.kind == OpKind::alloc ? slot.bytes() : -slot.bytes();
}

}  // namespace windtunnel
