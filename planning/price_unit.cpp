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

/// A block of a ring's attention costs what the scenario says beside its layer.
std::optional<Seconds> block_cost(const UnitCosts& unit, Kernel kernel) {
  if (kernel == Kernel::flash_block_fwd) return named(unit.attention, "F", unit.otherwise);
  if (kernel == Kernel::flash_block_bwd) return named(unit.attention, "B", unit.otherwise);
  return std::nullopt;
}

Seconds op_cost(const UnitCosts& unit, const Op& op, bool carries_layer) {
  switch (op.kind) {
    case OpKind::compute:
      if (!carries_layer) return unit.otherwise;
      return op.phase == Phase::forward || op.recompute ? named(unit.layer, "F", unit.otherwise)
                                                        : backward_cost(unit);
    case OpKind::host_work:
      return unit.otherwise;
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

}  // namespace

PricedProgram price_unit(const Program& program, const Cluster& cluster) {
  CHECK(cluster.unit.has_value(), "device unit states its costs");
  const UnitCosts& unit = *cluster.unit;
  PricedProgram priced;
  priced.item_of_op.assign(program.ops.size(), kNone);
  std::vector<Seconds> seconds(program.ops.size());
  for (const Segment& segment : program.segments) {
    std::set<int> wholly_recomputed;
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program.ops[i];
      if (op.recompute && op.module == Module::residual) wholly_recomputed.insert(op.layer);
    }
    std::set<std::tuple<int, Phase, bool>> seen;  // layer, phase, recompute
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program.ops[i];
      const bool layer_work = op.kind == OpKind::compute && op.layer >= 0 &&
                              (op.phase == Phase::forward || op.phase == Phase::backward);
      const bool first = layer_work && seen.insert({op.layer, op.phase, op.recompute}).second;
      // Recomputing part of a layer is free here: F stands for a whole forward.
      const bool carries = first && (!op.recompute || wholly_recomputed.contains(op.layer));
      const bool computes = op.kind == OpKind::compute;
      const auto block =
          computes ? block_cost(unit, program.shapes[op.shape].kernel) : std::nullopt;
      seconds[i] = block ? *block : op_cost(unit, op, carries);
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
