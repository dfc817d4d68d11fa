#include "tests/proof/program_edit.h"

#include <memory>

#include "core/check.h"

namespace windtunnel::proof {

OpTest is_kernel(Kernel kernel) {
  return [kernel](const OpPlace& at) { return at.kernel() == kernel; };
}

OpTest is_collective(Collective collective, std::string comm) {
  return [collective, comm = std::move(comm)](const OpPlace& at) {
    return at.op.kind == OpKind::collective && at.op.collective == collective &&
           at.comm_name() == comm;
  };
}

OpTest both(OpTest a, OpTest b) {
  return [a = std::move(a), b = std::move(b)](const OpPlace& at) { return a(at) && b(at); };
}

OpTest in_phase(Phase phase) {
  return [phase](const OpPlace& at) { return at.op.phase == phase; };
}

OpTest all_reduce(const char* comm) {
  return is_collective(Collective::all_reduce, comm);
}

OpTest is_wait_on(Stream stream) {
  return
      [stream](const OpPlace& at) { return at.op.kind == OpKind::wait && at.op.stream == stream; };
}

OpTest in_segment(OpTest test, const char* part) {
  return both(std::move(test), [part](const OpPlace& at) {
    return at.segment_name().find(part) != std::string::npos;
  });
}

OpTest of_gradients(const char* comm) {
  return both(all_reduce(comm), in_phase(Phase::grad_sync));
}

OpTest first(OpTest test) {
  const auto found = std::make_shared<bool>(false);
  return [test = std::move(test), found](const OpPlace& at) {
    if (*found || !test(at)) return false;
    return *found = true;
  };
}

void drop(Program& program, const OpTest& test) {
  std::vector<Op> kept;
  std::size_t dropped = 0;
  for (Segment& segment : program.segments) {
    const auto begin = static_cast<std::uint32_t>(kept.size());
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      if (test({program, segment, program.ops[i]})) {
        ++dropped;
      } else {
        kept.push_back(program.ops[i]);
      }
    }
    segment.op_begin = begin;
    segment.op_end = static_cast<std::uint32_t>(kept.size());
  }
  CHECK(dropped > 0, "a mutation must drop an op");
  program.ops = std::move(kept);
}

void change(Program& program, const OpTest& test, const std::function<void(Op&)>& edit) {
  std::size_t changed = 0;
  for (const Segment& segment : program.segments) {
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      if (!test({program, segment, program.ops[i]})) continue;
      edit(program.ops[i]);
      ++changed;
    }
  }
  CHECK(changed > 0, "a mutation must change an op");
}

void change_shape(Program& program, const OpTest& test, const std::function<void(Shape&)>& edit) {
  change(program, test, [&](Op& op) {
    Shape shape = program.shapes[op.shape];
    edit(shape);
    program.shapes.push_back(shape);
    op.shape = static_cast<std::uint32_t>(program.shapes.size() - 1);
  });
}

void move_to(Program& program, const OpTest& test, const char* comm) {
  const std::uint32_t other = comm_named(program, comm);
  change(program, test, [other](Op& op) { op.comm = other; });
}

std::uint32_t comm_named(const Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.comms.size(); ++i) {
    if (program.comms[i].name == name) return static_cast<std::uint32_t>(i);
  }
  CHECK(false, "no communicator is called " + name);
  return kNone;
}

}  // namespace windtunnel::proof
