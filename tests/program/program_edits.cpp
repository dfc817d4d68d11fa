#include "tests/program/program_edits.h"

#include <algorithm>
#include <stdexcept>

namespace windtunnel {

std::uint32_t find_op(Program& program, std::size_t role, const Choice& choice) {
  for (const Call& call : program.roles[role].calls) {
    const Segment& segment = program.segments[call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      if (choice({program, program.roles[role], segment, program.ops[i]})) return i;
    }
  }
  throw std::logic_error("no such op");
}

void drop_op(Program& program, std::uint32_t op) {
  program.ops[op] = {.kind = OpKind::host_work};
}

void repeat_op(Program& program, std::uint32_t op) {
  program.ops.insert(program.ops.begin() + op, Op(program.ops[op]));
  for (Segment& s : program.segments) {
    if (s.op_begin > op) ++s.op_begin;
    if (s.op_end > op) ++s.op_end;
  }
}

void move_op(Program& program, std::uint32_t from, std::uint32_t to) {
  const auto begin = program.ops.begin();
  if (from < to) {
    std::rotate(begin + from, begin + from + 1, begin + to);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
}

std::size_t find_call(const Program& program, std::size_t role, const std::string& name,
                      std::size_t n) {
  const std::vector<Call>& calls = program.roles[role].calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string& segment = program.names[program.segments[calls[i].segment].name];
    if (segment.rfind(name, 0) == 0 && n-- == 0) return i;
  }
  throw std::logic_error("no call of " + name);
}

void drop_call(Program& program, std::size_t role, std::size_t call) {
  program.roles[role].calls.erase(program.roles[role].calls.begin() +
                                  static_cast<std::ptrdiff_t>(call));
}

void swap_calls(Program& program, std::size_t role, std::size_t a, std::size_t b) {
  std::swap(program.roles[role].calls.at(a), program.roles[role].calls.at(b));
}

void start_alone(Program& program, std::size_t role, std::size_t call) {
  const Segment& segment = program.segments[program.roles[role].calls.at(call).segment];
  for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) program.ops[i].grouped = false;
}

std::uint32_t comm_named(const Program& program, const std::string& name) {
  for (std::uint32_t i = 0; i < program.comms.size(); ++i) {
    if (program.comms[i].name == name) return i;
  }
  throw std::logic_error("no communicator " + name);
}

}  // namespace windtunnel
