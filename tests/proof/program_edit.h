#pragma once
// Edits of a program's ops, for planting mistakes.

#include <functional>
#include <string>

#include "program/program.h"

namespace windtunnel::proof {

/// An op and the segment it stands in.
struct OpPlace {
  const Program& program;
  const Segment& segment;
  const Op& op;

  std::string segment_name() const { return program.names[segment.name]; }
  std::string comm_name() const {
    return op.comm == kNone ? std::string() : program.comms[op.comm].name;
  }
  Kernel kernel() const {
    return op.kind == OpKind::compute ? program.shapes[op.shape].kernel : Kernel::none;
  }
  const Slot& operand(const Role& role, std::size_t i) const {
    return role.slots[program.operands(op)[i]];
  }
};

using OpTest = std::function<bool(const OpPlace&)>;

OpTest is_kernel(Kernel kernel);
OpTest is_collective(Collective collective, std::string comm);
OpTest all_reduce(const char* comm);
OpTest is_wait_on(Stream stream);
OpTest both(OpTest a, OpTest b);
OpTest in_phase(Phase phase);
/// In segments whose name contains `part`.
OpTest in_segment(OpTest test, const char* part);
/// All-reduces of gradients after backward.
OpTest of_gradients(const char* comm);
/// The first op that passes, no other.
OpTest first(OpTest test);

/// Each throws InternalError when no op passes: a mutation that changes nothing proves nothing.
void drop(Program& program, const OpTest& test);
void change(Program& program, const OpTest& test, const std::function<void(Op&)>& edit);
/// Gives the ops that pass a shape of their own and changes it.
void change_shape(Program& program, const OpTest& test, const std::function<void(Shape&)>& edit);

/// Sends what passes over another communicator.
void move_to(Program& program, const OpTest& test, const char* comm);

std::uint32_t comm_named(const Program& program, const std::string& name);

}  // namespace windtunnel::proof
