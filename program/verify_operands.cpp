// Do transfers and collectives move what their operands hold, and do views lie inside their parent?

#include <fmt/format.h>

#include "program/mesh.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

/// Elements of the input and output of a collective over `n` members whose full tensor has `full`.
struct Sizes {
  std::int64_t in = 0, out = 0;
};

Sizes sizes_of(Collective collective, std::int64_t full, std::int64_t n) {
  switch (collective) {
    case Collective::all_gather:
      return {full / n, full};
    case Collective::reduce_scatter:
      return {full, full / n};
    case Collective::all_reduce:
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::ring_shift:
      break;
  }
  return {full, full};
}

class RoleOperands {
 public:
  RoleOperands(const ProgramFacts& facts, std::size_t role, const std::vector<int>& group_sizes)
      : program_(facts.program), role_(role), sizes_(group_sizes) {}

  void check_segment(std::uint32_t segment, Violations& v) const {
    const Segment& s = program_.segments[segment];
    for (std::uint32_t i = s.op_begin; i < s.op_end; ++i) {
      const Op& op = program_.ops[i];
      const char* why = nullptr;
      if (op.kind == OpKind::collective) why = wrong_collective(op);
      if (is_message(op.kind)) why = wrong_transfer(op);
      if (why != nullptr) v.add(segment_op_text(program_, role_, segment, i) + ": " + why);
    }
  }

 private:
  const Slot& operand(const Op& op, std::size_t i) const {
    return program_.roles[role_].slots[program_.operands(op)[i]];
  }

  const char* wrong_collective(const Op& op) const {
    const Slot &in = operand(op, 0), &out = operand(op, 1);
    const std::int64_t n = sizes_[op.comm];
    if (n < 2) return "its group has one member";
    const Sizes want = sizes_of(op.collective, op.elements, n);
    if (in.elements != want.in) return "its input has another size";
    if (out.elements != want.out) return "its output has another size";
    if (in.dtype != op.dtype || out.dtype != op.dtype) return "its operands have another type";
    const bool reduces =
        op.collective == Collective::all_reduce || op.collective == Collective::reduce_scatter;
    if (reduces == (op.reduce == ReduceOp::none)) return "its reduction does not fit its kind";
    const bool shifts = op.collective == Collective::ring_shift;
    if (shifts && program_.operands(op)[0] == program_.operands(op)[1])
      return "it overwrites what it sends";
    if (shifts && (op.distance < 1 || op.distance >= n)) return "it sends to no other member";
    return nullptr;
  }

  const char* wrong_transfer(const Op& op) const {
    const Slot& slot = operand(op, 0);
    if (static_cast<std::size_t>(op.peer) == role_) return "its peer is itself";
    if (slot.elements != op.elements) return "its operand has another size";
    if (slot.dtype != op.dtype) return "its operand has another type";
    return nullptr;
  }

  const Program& program_;
  std::size_t role_;
  const std::vector<int>& sizes_;
};

const char* wrong_view(const Mesh& mesh, const Slot& view, const Slot& parent) {
  const std::int64_t last = last_offset_of(mesh, view) + view.elements;
  const bool turns = view.tp_back >= 0 && view.tp_back < mesh.tp;
  if (view.offset < 0 || view.dp_stride < 0 || view.tp_stride < 0 || !turns ||
      last > parent.elements)
    return "reaches outside its parent";
  if (view.dtype != parent.dtype) return "has another type than its parent";
  if (view.space != parent.space) return "lives in another space than its parent";
  return nullptr;
}

}  // namespace

std::vector<std::string> check_operands(const ProgramFacts& facts) {
  Violations v;
  std::vector<int> group_sizes;
  for (const Comm& comm : facts.program.comms)
    group_sizes.push_back(group_size(facts.program.mesh, comm));
  for (std::size_t r = 0; r < facts.roles.size(); ++r) {
    const RoleOperands operands(facts, r, group_sizes);
    std::uint32_t done = kNone;  // variants of one segment mostly stand together
    for (const CallVariant& variant : facts.roles[r].variants) {
      if (variant.call.segment == done) continue;
      operands.check_segment(done = variant.call.segment, v);
    }
  }
  return v.take();
}

std::vector<std::string> check_views(const ProgramFacts& facts) {
  Violations v;
  const Program& p = facts.program;
  for (std::size_t r = 0; r < p.roles.size(); ++r) {
    for (const Slot& slot : p.roles[r].slots) {
      if (slot.parent == kNone) continue;
      const Slot& parent = p.roles[r].slots[slot.parent];
      const auto id = static_cast<SlotId>(&slot - p.roles[r].slots.data());
      if (const char* why = wrong_view(p.mesh, slot, parent))
        v.add(fmt::format("role {}: {}, a view of {}, {}", r, slot_text(p, p.roles[r], id),
                          slot_text(p, p.roles[r], slot.parent), why));
    }
  }
  return v.take();
}

}  // namespace windtunnel
