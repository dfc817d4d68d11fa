#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/check.h"
#include "planning/clock_range.h"
#include "planning/pricing.h"

namespace windtunnel {

namespace {

Seconds named(const std::map<std::string, Seconds>& costs, const std::string& name,
              Seconds otherwise) {
  const auto it = costs.find(name);
  return it == costs.end() ? otherwise : it->second;
}

/// A layer's whole backward: B, or I + W when the scenario gives the halves.
Seconds backward_cost(const UnitCosts& unit) {
  const Seconds halves = named(unit.layer, "I", {}) + named(unit.layer, "W", {});
  return named(unit.layer, "B", halves);
}

/// One half of it: I or W, else half of B.
Seconds half_cost(const UnitCosts& unit, const char* name) {
  return named(unit.layer, name, Seconds{backward_cost(unit).value / 2.0});
}

/// A kernel of a layer's own; copies of what it keeps stand beside it.
bool is_of_a_layer(const Op& op) {
  return op.kind == OpKind::compute && op.layer >= 0 && op.module != Module::offload;
}

/// What the first kernel of a layer in a phase stands for.
enum class Pass : std::uint8_t { none, forward, backward, input_grad, weight_grad };

Seconds pass_cost(const UnitCosts& unit, Pass pass) {
  switch (pass) {
    case Pass::forward:
      return named(unit.layer, "F", unit.otherwise);
    case Pass::backward:
      return backward_cost(unit);
    case Pass::input_grad:
      return half_cost(unit, "I");
    case Pass::weight_grad:
      return half_cost(unit, "W");
    case Pass::none:
      break;
  }
  return unit.otherwise;
}

std::string collective_name(Collective c) {
  switch (c) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::broadcast:
      return "broadcast";
    case Collective::ring_shift:
      break;  // a hop
  }
  return "";
}

bool is_of_an_end(const Op& op) {
  const bool syncs = op.phase == Phase::param_sync || op.phase == Phase::grad_sync;
  return syncs && (op.module == Module::embedding || op.module == Module::head);
}

bool is_graph_launch(const Program& program, const Op& op) {
  return op.kind == OpKind::host_work &&
         program.shapes[op.shape].dims[0] == static_cast<std::int64_t>(HostItem::graph_launch);
}

/// Copies between device and host, and the host's own steps; scalars and the sharded ends of the
/// model cost what everything else does.
std::optional<Seconds> offload_cost(const UnitCosts& unit, const Program& program, const Op& op) {
  if (op.kind != OpKind::compute) return std::nullopt;
  constexpr std::int64_t kScalars = 8;  // more than an update reads beside gradients
  const Shape& shape = program.shapes[op.shape];
  if ((shape.attr & kOnHost) != 0) return named(unit.offload, "host", unit.otherwise);
  const bool of_an_end = op.phase == Phase::param_sync && op.layer < 0;
  if (row_of(shape.kernel).cls != KernelClass::link || shape.dims[0] <= kScalars || of_an_end)
    return std::nullopt;
  return named(unit.offload, name_of(shape.kernel), unit.otherwise);
}

/// A block of a ring's attention costs what the scenario says beside its layer.
std::optional<Seconds> block_cost(const UnitCosts& unit, const Program& program, const Op& op) {
  if (op.kind != OpKind::compute) return std::nullopt;
  const Kernel kernel = program.shapes[op.shape].kernel;
  if (kernel == Kernel::flash_block_fwd) return named(unit.attention, "F", unit.otherwise);
  if (kernel == Kernel::flash_block_bwd) return named(unit.attention, "B", unit.otherwise);
  return std::nullopt;
}

Seconds op_cost(const UnitCosts& unit, const Op& op, Pass pass, bool launches_graph) {
  switch (op.kind) {
    case OpKind::compute:
      return pass_cost(unit, pass);
    case OpKind::host_work:
      return launches_graph ? unit.graph_launch : unit.otherwise;
    case OpKind::collective:
      // One number (gradient norm, loss) is not a payload of its kind, and the sharded ends of the
      // model are no layers.
      if (op.elements == 1 || is_of_an_end(op)) return unit.otherwise;
      if (op.collective == Collective::ring_shift) return unit.hop;
      return named(unit.collective, collective_name(op.collective), unit.otherwise);
    case OpKind::send:
      return unit.hop;
    default:
      return {};
  }
}

/// The passes that the ops of one segment stand for: the first kernel of each layer and phase
/// carries the cost of that pass. A backward and its weight gradients in one segment are one pass.
class SegmentPasses {
 public:
  SegmentPasses(const Program& program, const Segment& segment) {
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program.ops[i];
      if (op.recompute && op.module == Module::residual) wholly_recomputed_.insert(op.layer);
      if (!is_of_a_layer(op) || op.recompute) continue;
      if (op.phase == Phase::backward) backward_.insert(op.layer);
      if (op.phase == Phase::weight_grad) weight_grad_.insert(op.layer);
    }
  }

  Pass of(const Op& op) {
    const bool in_layer = is_of_a_layer(op);
    const bool works =
        op.phase == Phase::forward || op.phase == Phase::backward || op.phase == Phase::weight_grad;
    if (!in_layer || !works || !seen_.insert({op.layer, op.phase, op.recompute}).second)
      return Pass::none;
    // Recomputing part of a layer is free here: F stands for a whole forward.
    if (op.recompute) return wholly_recomputed_.contains(op.layer) ? Pass::forward : Pass::none;
    if (op.phase == Phase::forward) return Pass::forward;
    const bool both = backward_.contains(op.layer) && weight_grad_.contains(op.layer);
    if (op.phase == Phase::backward) return both ? Pass::backward : Pass::input_grad;
    return both ? Pass::none : Pass::weight_grad;
  }

 private:
  std::set<int> wholly_recomputed_, backward_, weight_grad_;  // layers
  std::set<std::tuple<int, Phase, bool>> seen_;               // layer, phase, recompute
};

}  // namespace

PricedProgram price_unit(const Program& program, const Cluster& cluster) {
  CHECK(cluster.unit.has_value(), "device unit states its costs");
  const UnitCosts& unit = *cluster.unit;
  PricedProgram priced;
  priced.item_of_op.assign(program.ops.size(), kNone);
  std::vector<Seconds> seconds(program.ops.size());
  for (const Segment& segment : program.segments) {
    SegmentPasses passes(program, segment);
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program.ops[i];
      const Pass pass = passes.of(op);
      auto block = block_cost(unit, program, op);
      if (!block) block = offload_cost(unit, program, op);
      seconds[i] = (block ? *block : op_cost(unit, op, pass, is_graph_launch(program, op))) +
                   graph_gap(op, unit.graph_gap);
    }
  }
  for (const Role& role : program.roles) {
    const auto it = unit.stage_scale.find(role.pipeline_rank);
    priced.costs.role_factor.push_back(it == unit.stage_scale.end() ? 1.0 : it->second);
  }
  check_clock_range(
      program, {.of_op = seconds, .launch = unit.launch, .role_factor = priced.costs.role_factor});
  priced.costs.launch = {to_picoseconds(unit.launch)};
  for (const Seconds s : seconds) priced.costs.duration.push_back(to_picoseconds(s));
  return priced;
}

}  // namespace windtunnel
