#include "tests/peers/lowered_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>

#include "program/mesh.h"
#include "tests/peers/unit_marks.h"

namespace windtunnel::peers {

namespace {

const char* short_name(Collective kind) {
  switch (kind) {
    case Collective::all_reduce:
      return "AR";
    case Collective::all_gather:
      return "AG";
    case Collective::reduce_scatter:
      return "RS";
    case Collective::all_to_all:
      return "A2A";
    default:
      return "broadcast";
  }
}

/// The toy model's name of one of our parameters.
std::string toy_name(std::string name) {
  static const std::map<std::string, std::string> kNames{{"fc1", "gate_up"},
                                                         {"fc2", "down"},
                                                         {"final_norm.weight", "norm.weight"},
                                                         {"word_embedding", "embedding.weight"},
                                                         {"head", "head.weight"}};
  for (const auto& [ours, theirs] : kNames) {
    const std::size_t at = name.find(ours);
    if (at == std::string::npos) continue;
    name.replace(at, ours.size(), theirs);
    break;
  }
  return name;
}

class Extractor {
 public:
  Extractor(const Program& program, int rank, Detail detail)
      : p_(program),
        rank_(rank),
        place_(coordinates_of(dense_grid(program.mesh), rank)),
        role_(program.roles[static_cast<std::size_t>(place_.pp)]),
        detail_(detail),
        ends_in_root_(ends_in_root(program)) {}

  EventList run() {
    for (const Call& call : role_.calls) add_call(call);
    if (detail_ == Detail::unit_marks) return with_unit_marks(items_, Parts::layers);
    if (detail_ == Detail::part_marks) return with_unit_marks(items_, Parts::layer_parts);
    EventList events;
    for (const MarkedItem& item : items_) {
      if (!item.line.empty()) events.push_back(item.line);
    }
    return events;
  }

 private:
  void add_call(const Call& call) {
    const std::string& name = p_.names[p_.segments[call.segment].name];
    if (detail_ == Detail::actions && starts_with(name, "forward.")) add("F " + stage(call));
    if (detail_ == Detail::actions && starts_with(name, "backward.")) add("B " + stage(call));
    for (const Op& op : p_.ops_of(call)) {
      if (runs(op, call, 1)) add_op(call, op);
    }
  }

  void add_op(const Call& call, const Op& op) {
    const bool message = is_message(op.kind);
    if (message) add_message(call, op);
    if (op.kind == OpKind::collective) add_collective(op);
    if (op.kind == OpKind::compute) add_compute(op);
    if (detail_ == Detail::gradients || detail_ == Detail::part_marks) return;
    if (op.kind == OpKind::record && p_.names[role_.events[op.event].name] == "released") {
      released_.push_back(items_.size());
      add("");
    }
    if (op.kind == OpKind::free) add_reshard(p_.refs[op.ref_begin]);
    if (op.kind == OpKind::wait && op.stream == Stream::compute) add_wait(op);
  }

  /// Units are let go in the order they are freed, which may be behind a host that waits.
  void add_reshard(SlotId id) {
    const Slot& slot = role_.slots[id];
    if (slot.category != Category::unsharded || !starts_with(p_.names[slot.name], "unsharded"))
      return;
    const std::string line = "reshard " + unit_of_slot_.at(id);
    if (released_.empty()) return add(line);
    items_[released_.front()].line = line;
    released_.pop_front();
  }

  /// At the end of backward compute waits for shards and input of the last reduction; a recording
  /// says so of the streams alone.
  void add_wait(const Op& op) {
    const std::string& name = p_.names[role_.events[op.event].name];
    if (starts_with(name, "reduced")) shards_awaited_ = true;
    if (!starts_with(name, "scattered")) return;
    if (!shards_awaited_) add("wait_reduce");
    shards_awaited_ = false;
  }

  std::string stage(const Call& call) const {
    return fmt::format("{}.{}", role_.chunks[static_cast<std::size_t>(call.chunk)].global_chunk,
                       call.micro_batch);
  }

  void add_message(const Call& call, const Op& op) {
    Coordinates peer = place_;
    peer.pp = op.peer;
    add(fmt::format("{} {}{} {} B {} {}", op.kind == OpKind::send ? "send" : "recv",
                    op.phase == Phase::forward ? "F" : "B", stage(call),
                    bytes_of(op.dtype, op.elements), op.kind == OpKind::send ? "to" : "from",
                    rank_of(dense_grid(p_.mesh), peer)));
    if (!op.grouped) {
      first_of_batch_ = items_.size() - 1;
    } else {
      items_[first_of_batch_].line += items_[first_of_batch_].batched ? "" : " batched";
      items_[first_of_batch_].batched = true;
      items_.back().line += " batched";
    }
  }

  void add_collective(const Op& op) {
    std::string line = fmt::format("{} {} {} B over {}", short_name(op.collective), unit_of(op),
                                   bytes_of(op.dtype, op.elements),
                                   fmt::join(members(p_.mesh, p_.comms[op.comm], rank_), ","));
    const bool in_layer = p_.comms[op.comm].name == "tp" && op.layer >= 0;
    if (op.collective == Collective::all_gather && op.phase == Phase::param_sync)
      unit_of_slot_[p_.operands(op)[1]] = unit_of(op);
    if (detail_ == Detail::gradients) line += contents(p_.operands(op)[0]);
    add(line);
    if (in_layer) mark(op);
  }

  /// Parameters whose gradients lie in a bucket, in its order.
  std::string contents(SlotId bucket) const {
    std::string text;
    for (const Slot& slot : role_.slots) {
      if (slot.parent == bucket && slot.param != kNone)
        text += " " + toy_name(p_.names[p_.params[slot.param].name]);
    }
    return text.empty() ? text : ":" + text;
  }

  void add_compute(const Op& op) {
    const Kernel kernel = p_.shapes[op.shape].kernel;
    const std::span<const SlotId> refs = p_.operands(op);
    if (op.phase == Phase::param_sync && op.stream == Stream::compute && kernel == Kernel::copy) {
      unit_of_slot_[refs[1]] = unit_of(op);
      add("copy_out " + unit_of(op));
    }
    if (op.phase != Phase::forward && op.phase != Phase::backward) return;
    add("");
    mark(op);
    if (detail_ != Detail::gradients || op.phase != Phase::backward || kernel == Kernel::zero)
      return;
    for (std::size_t i = op.inputs; i < refs.size(); ++i) {
      const Slot& slot = role_.slots[refs[i]];
      if (slot.param != kNone && slot.category == Category::grads)
        add("ready " + toy_name(p_.names[p_.params[slot.param].name]));
    }
  }

  /// Which sharded unit, of collectives that move one.
  std::string unit_of(const Op& op) const {
    if (detail_ == Detail::gradients) return "-";
    if (op.phase != Phase::param_sync && op.phase != Phase::grad_sync) return "-";
    if (op.layer >= 0) return fmt::format("layers.{}", op.layer);
    if (op.module == Module::head) return "norm+head";
    if (op.module != Module::embedding) return "-";
    return ends_in_root_ ? "root" : "embedding";
  }

  /// Embedding, final norm and head are one unit where no other holds the head.
  static bool ends_in_root(const Program& p) {
    return std::none_of(p.ops.begin(), p.ops.end(), [](const Op& op) {
      return op.phase == Phase::param_sync && op.module == Module::head;
    });
  }

  void add(std::string line) { items_.push_back({.line = std::move(line)}); }
  void mark(const Op& op) {
    items_.back().unit = compute_unit(op);
    items_.back().backward = op.phase == Phase::backward;
    items_.back().recompute = op.recompute;
  }

  const Program& p_;
  int rank_;
  Coordinates place_;
  const Role& role_;
  Detail detail_;
  bool ends_in_root_;
  std::vector<MarkedItem> items_;
  std::map<SlotId, std::string> unit_of_slot_;  // of whole weights, once gathered
  std::deque<std::size_t> released_;            // items of units let go and not yet freed
  std::size_t first_of_batch_ = 0;
  bool shards_awaited_ = false;
};

}  // namespace

EventList lowered_events(const Program& program, int rank, Detail detail) {
  return Extractor(program, rank, detail).run();
}

}  // namespace windtunnel::peers
