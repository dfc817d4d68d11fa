#include "plan/graph_capture.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/cost/cost_model.h"
#include "program/op_runs.h"
#include "program/slot_part.h"

namespace windtunnel {

namespace {

bool is_pass(const Op& op) {
  return op.phase == Phase::forward || op.phase == Phase::backward;
}

/// Kernels and transfers.
bool runs_on_device(const Op& op) {
  return op.kind == OpKind::compute || op.kind == OpKind::collective || is_message(op.kind);
}

bool belongs_to(GraphScope scope, const Op& op) {
  if (scope == GraphScope::iteration) return is_pass(op) || op.phase == Phase::grad_sync;
  return is_pass(op) && op.layer >= 0;
}

bool is_captured(GraphScope scope, const Op& op) {
  if (!belongs_to(scope, op) || !runs_on_device(op)) return false;
  if (scope == GraphScope::iteration) return true;
  return !is_message(op.kind) && (op.stream == Stream::compute || op.stream == Stream::tp);
}

bool is_dropped(GraphScope scope, const Op& op) {
  if (!belongs_to(scope, op)) return false;
  return (op.kind == OpKind::host_work && op.module != Module::data) ||
         (scope == GraphScope::iteration && op.kind == OpKind::host_sync);
}

class Capture {
 public:
  Capture(ProgramWriter& writer, GraphScope scope)
      : program_(writer.program),
        scope_(scope),
        launch_(writer.shape({.kernel = Kernel::host_work,
                              .dims = {static_cast<std::int64_t>(HostItem::graph_launch), 1}})) {}

  void run() {
    for (const Role& role : program_.roles) {
      if (!role.calls.empty()) step_begins_.insert(role.calls.front().segment);
    }
    old_ops_ = std::exchange(program_.ops, {});
    for (Segment& segment : program_.segments) rewrite(segment);
    for (Role& role : program_.roles) {
      role.graph_kernels = kernels_held(role);
      move_to_pool(role);
    }
  }

 private:
  void rewrite(Segment& segment) {
    const auto begin = static_cast<std::uint32_t>(program_.ops.size());
    std::pair<int, Phase> graph{-1, Phase::startup};  // layer, phase of the one under way
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      Op op = old_ops_[i];
      if (is_dropped(scope_, op)) continue;
      op.captured = is_captured(scope_, op);
      if (op.captured && scope_ == GraphScope::layer &&
          graph != std::pair<int, Phase>{op.layer, op.phase}) {
        graph = {op.layer, op.phase};
        program_.ops.push_back(launch_of(op.phase, op.layer));
      }
      program_.ops.push_back(op);
    }
    const auto index = static_cast<std::uint32_t>(&segment - program_.segments.data());
    if (scope_ == GraphScope::iteration && step_begins_.contains(index)) {
      program_.ops.push_back(launch_of(Phase::forward, -1));
    }
    segment.op_begin = begin;
    segment.op_end = static_cast<std::uint32_t>(program_.ops.size());
  }

  Op launch_of(Phase phase, std::int16_t layer) const {
    return {.kind = OpKind::host_work, .phase = phase, .layer = layer, .shape = launch_};
  }

  std::int64_t kernels_in(const Call& call) const {
    constexpr int kSteady = 1;  // a step after the first
    std::int64_t kernels = 0;
    for (const Op& op : program_.ops_of(call)) {
      if (op.captured && runs(op, call, kSteady)) kernels += op.launches;
    }
    return kernels;
  }

  /// A graph holds the addresses of its micro-batch's tensors: layer scope makes a set of graphs
  /// for each micro-batch of a chunk that is under way at a time.
  std::int64_t kernels_held(const Role& role) const {
    std::int64_t all = 0;
    struct Chunk {
      std::int64_t under_way = 0, most = 0;
      std::map<std::uint32_t, std::int64_t> kernels;  // by segment
    };
    std::map<int, Chunk> chunks;
    for (const Call& call : role.calls) {
      const std::int64_t kernels = kernels_in(call);
      all += kernels;
      if (kernels == 0 || call.chunk < 0) continue;
      Chunk& chunk = chunks[call.chunk];
      chunk.under_way = std::max<std::int64_t>(0, chunk.under_way + (is_forward(call) ? 1 : -1));
      chunk.most = std::max(chunk.most, chunk.under_way);
      std::int64_t& most = chunk.kernels[call.segment];
      most = std::max(most, kernels);
    }
    if (scope_ == GraphScope::iteration) return all;
    std::int64_t held = 0;
    for (const auto& [number, chunk] : chunks) {
      for (const auto& [segment, kernels] : chunk.kernels) held += chunk.most * kernels;
    }
    return held;
  }

  bool is_forward(const Call& call) const {
    for (const Op& op : program_.ops_of(call)) {
      if (op.captured) return op.phase == Phase::forward;
    }
    return false;
  }

  /// Frames and scratch that captured ops write are taken while the graph is captured.
  void move_to_pool(Role& role) {
    std::set<SlotId> moved;
    for (const Segment* s : segments_of(program_, role)) {
      for (std::uint32_t i = s->op_begin; i < s->op_end; ++i) {
        const Op& op = program_.ops[i];
        if (!op.captured) continue;
        const std::span<const SlotId> operands = program_.operands(op);
        for (std::size_t k = op.inputs; k < operands.size(); ++k) {
          const SlotId root = root_of(role, operands[k]);
          const Slot& slot = role.slots[root];
          if (slot.space == Space::frame || slot.space == Space::scratch) moved.insert(root);
        }
      }
    }
    for (const SlotId slot : moved) role.slots[slot].in_graph = true;
  }

  Program& program_;
  GraphScope scope_;
  std::uint32_t launch_;  // shape
  std::vector<Op> old_ops_;
  std::set<std::uint32_t> step_begins_;  // segments
};

}  // namespace

void capture_graphs(ProgramWriter& writer, GraphScope scope) {
  if (scope != GraphScope::none) Capture(writer, scope).run();
}

}  // namespace windtunnel
