#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "program/mesh.h"
#include "program/op_names.h"
#include "program/print.h"

namespace windtunnel {

namespace {

class RankPrinter {
 public:
  RankPrinter(const Program& program, int rank)
      : p_(program),
        place_(coordinates_of(dense_grid(program.mesh), rank)),
        role_(program.roles[static_cast<std::size_t>(place_.pp)]),
        rank_(rank) {}

  std::string text() {
    std::string text =
        fmt::format("rank {}: stage {}, tp {}, dp {}\n", rank_, place_.pp, place_.tp, place_.dp);
    for (const Comm& comm : p_.comms) {
      const std::vector<int> ranks = members(p_.mesh, comm, rank_);
      if (!ranks.empty()) text += fmt::format("{}: ranks {}\n", comm.name, fmt::join(ranks, " "));
    }
    for (std::size_t i = 0; i < role_.prologue.size(); ++i) print_call("prologue", i, true, text);
    for (std::size_t i = 0; i < role_.calls.size(); ++i) print_call("call", i, false, text);
    return text;
  }

 private:
  void print_call(const char* what, std::size_t i, bool prologue, std::string& text) {
    const Call& call = prologue ? role_.prologue[i] : role_.calls[i];
    text += fmt::format("{} {}: {}", what, i, p_.names[p_.segments[call.segment].name]);
    if (call.micro_batch >= 0) text += fmt::format(", micro-batch {}", call.micro_batch);
    if (call.first_micro_batch) text += ", the first";
    if (call.last_micro_batch) text += ", the last";
    const auto seen = std::find(printed_.begin(), printed_.end(), call.segment);
    if (seen != printed_.end()) {
      text += "\n";
      return;
    }
    printed_.push_back(call.segment);
    text += ":\n";
    std::size_t n = 0;
    for (const Op& op : p_.ops_of(call)) text += op_line(n++, op);
  }

  std::string op_line(std::size_t number, const Op& op) const {
    std::string line = fmt::format("{:>5}  {:<12}  {:<11}  {:<15}", number, name_of(op.stream),
                                   name_of(op.phase), what_text(op));
    for (std::size_t i = 0; i < op.refs; ++i) {
      if (i == op.inputs && op.inputs > 0 && op.kind != OpKind::alloc) line += " ->";
      line += " " + operand_text(p_.operands(op)[i]);
    }
    line += details_text(op);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  std::string what_text(const Op& op) const {
    if (op.kind == OpKind::compute) return name_of(p_.shapes[op.shape].kernel);
    if (op.kind == OpKind::collective) return name_of(op.collective);
    return name_of(op.kind);
  }

  std::string operand_text(SlotId id) const {
    const Slot& slot = role_.slots[id];
    std::string text =
        fmt::format("{}:{}[{}]", p_.names[slot.name], name_of(slot.dtype), slot.elements);
    if (slot.parent != kNone)
      text += fmt::format("@{}+{}", p_.names[role_.slots[slot.parent].name],
                          offset_of(p_.mesh, slot, place_));
    return text;
  }

  std::string details_text(const Op& op) const {
    std::string text;
    if (op.comm != kNone) {
      text += fmt::format("  on {}", p_.comms[op.comm].name);
      if (op.peer >= 0) text += fmt::format(" with stage {}", op.peer);
      if (op.reduce != ReduceOp::none) text += fmt::format(" {}", name_of(op.reduce));
      if (op.distance > 1) text += fmt::format(" {} places on", op.distance);
      text += fmt::format(", {} B", bytes_of(op.dtype, op.elements));
    }
    if (op.shape != kNone) text += shape_text(p_.shapes[op.shape]);
    if (op.event != kNone) {
      const Event& event = role_.events[op.event];
      text += fmt::format(" {}#{}{}", p_.names[event.name], op.event,
                          event.per_frame ? " of the frame" : "");
    }
    if (op.layer >= 0) text += fmt::format("  layer {}", op.layer);
    if (op.launches > 1) text += fmt::format("  {} launches", op.launches);
    if (op.captured) text += "  captured";
    if (op.when != When::always) text += fmt::format("  when {}", name_of(op.when));
    if (op.recompute) text += "  recompute";
    if (op.grouped) text += "  grouped";
    return text;
  }

  static std::string shape_text(const Shape& shape) {
    std::size_t n = shape.dims.size();
    while (n > 0 && shape.dims[n - 1] == 0) --n;
    return n == 0
               ? ""
               : fmt::format("  ({})", fmt::join(shape.dims.begin(), shape.dims.begin() + n, ", "));
  }

  const Program& p_;
  Coordinates place_;
  const Role& role_;
  int rank_;
  std::vector<std::uint32_t> printed_;  // segments
};

}  // namespace

std::string print_ops(const Program& program, int rank) {
  CHECK(rank >= 0 && rank < program.mesh.ranks(), "the rank is one of the program's");
  return RankPrinter(program, rank).text();
}

}  // namespace windtunnel
