#pragma once
// Edits that plant a mistake in a sound program. Each throws when there is nothing to edit: a
// mistake that was not planted proves nothing.

#include <functional>
#include <string>

#include "program/program.h"

namespace windtunnel {

/// An op of a role's segment, for tests that choose one.
struct ChosenOp {
  const Program& program;
  const Role& role;
  const Segment& segment;
  Op& op;

  std::string segment_name() const { return program.names[segment.name]; }
  std::string comm() const { return op.comm == kNone ? "" : program.comms[op.comm].name; }
  std::string event() const {
    return op.event == kNone ? "" : program.names[role.events[op.event].name];
  }
  Kernel kernel() const {
    return op.kind == OpKind::compute ? program.shapes[op.shape].kernel : Kernel::none;
  }
  const Slot& slot(std::size_t operand = 0) const {
    return role.slots[program.operands(op)[operand]];
  }
};

using Choice = std::function<bool(const ChosenOp&)>;

/// The index of the first op of the role's calls that is chosen.
std::uint32_t find_op(Program& program, std::size_t role, const Choice& choice);
/// Turns the op into host work that touches nothing.
void drop_op(Program& program, std::uint32_t op);
/// Inserts a copy of `op` behind it.
void repeat_op(Program& program, std::uint32_t op);
/// Puts the op at `from` before the one at `to`, in one segment.
void move_op(Program& program, std::uint32_t from, std::uint32_t to);

/// The index of the n-th call of the role whose segment's name starts with `name`.
std::size_t find_call(const Program& program, std::size_t role, const std::string& name,
                      std::size_t n = 0);
void drop_call(Program& program, std::size_t role, std::size_t call);
void swap_calls(Program& program, std::size_t role, std::size_t a, std::size_t b);

/// The call's transfers no longer start together with the ones issued before them.
void start_alone(Program& program, std::size_t role, std::size_t call);

std::uint32_t comm_named(const Program& program, const std::string& name);

}  // namespace windtunnel
