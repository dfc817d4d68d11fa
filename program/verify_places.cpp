// Does every kernel work in the memory of where it runs?
//
// Kernels and transfers of the device use device memory, kernels of the host (kOnHost) host memory;
// to_host reads the one and writes the other, to_device the other way, operand by operand of one
// size. Views lie where their root does.

#include <fmt/format.h>

#include "program/verify_checks.h"

namespace windtunnel {

namespace {

class RolePlaces {
 public:
  RolePlaces(const ProgramFacts& facts, std::size_t role)
      : program_(facts.program), role_(program_.roles[role]), roots_(facts.roles[role].roots) {}

  /// What is wrong with the op's operands; null when nothing.
  const char* wrong(const Op& op) const {
    if (op.kind == OpKind::alloc || op.kind == OpKind::free) return nullptr;
    const bool computes = op.kind == OpKind::compute;
    const Kernel kernel = computes ? program_.shapes[op.shape].kernel : Kernel::none;
    if (kernel == Kernel::to_host || kernel == Kernel::to_device) return wrong_copy(op, kernel);
    const bool runs_on_host = computes && (program_.shapes[op.shape].attr & kOnHost) != 0;
    for (const SlotId id : program_.operands(op)) {
      if (on_host(id) == runs_on_host) continue;
      return runs_on_host ? "a kernel of the host uses device memory"
                          : "the device uses host memory";
    }
    return nullptr;
  }

 private:
  bool on_host(SlotId id) const { return role_.slots[roots_[id]].host; }

  const char* wrong_copy(const Op& op, Kernel kernel) const {
    const auto operands = program_.operands(op);
    if (op.refs != 2 * op.inputs || op.inputs == 0) return "a copy has an output for each input";
    for (std::size_t i = 0; i < op.inputs; ++i) {
      const SlotId from = operands[i], to = operands[op.inputs + i];
      const bool crosses = on_host(from) != on_host(to);
      if (!crosses || on_host(to) != (kernel == Kernel::to_host))
        return "the copy does not go the way it says";
      if (role_.slots[from].elements != role_.slots[to].elements)
        return "the copy's input and output differ in size";
    }
    return nullptr;
  }

  const Program& program_;
  const Role& role_;
  const std::vector<SlotId>& roots_;
};

}  // namespace

std::vector<std::string> check_places(const ProgramFacts& facts) {
  Violations v;
  for (std::size_t r = 0; r < facts.roles.size(); ++r) {
    const RolePlaces places(facts, r);
    for (const CallVariant& variant : facts.roles[r].variants) {
      const Segment& segment = facts.program.segments[variant.call.segment];
      for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
        const char* why = places.wrong(facts.program.ops[i]);
        if (why != nullptr)
          v.add(place_text(facts.program, {r, variant.first_call, i}) + ": " + why);
      }
    }
  }
  return v.take();
}

}  // namespace windtunnel
