#include "calibrate/measure/program_shapes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.h"
#include "models/cost/calibration.h"
#include "models/cost/shape_work.h"
#include "program/mesh.h"
#include "program/op_runs.h"
#include "program/slot_part.h"

namespace windtunnel {

namespace {

constexpr double kRoughFlops = 5e9, kRoughBytes = 5e9;  // one core of any machine of ten years
constexpr double kRoughTransfer = 1e9, kRoughLatency = 20e-6;

using TransferKey = std::tuple<CommKind, Dtype, std::int64_t, std::uint16_t>;  // of a communicator

CommKind kind_of(const Op& op) {
  return op.kind == OpKind::send ? CommKind::send_recv : comm_kind(op.collective);
}

int size_of(const Program& program, const Op& op) {
  return op.kind == OpKind::send ? 2 : group_size(program.mesh, program.comms[op.comm]);
}

/// All groups of a communicator work at the same time; so do the pairs of two stages.
std::vector<std::vector<int>> groups_of(const Program& program, const Role& role, const Op& op) {
  const Grid grid = dense_grid(program.mesh);
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    if (op.kind != OpKind::send) {
      std::vector<int> group = members(program.mesh, program.comms[op.comm], rank);
      if (!group.empty() && group.front() == rank) groups.push_back(std::move(group));
      continue;
    }
    Coordinates at = coordinates_of(grid, rank);
    if (at.pp != role.pipeline_rank) continue;
    at.pp = program.roles[static_cast<std::size_t>(op.peer)].pipeline_rank;
    groups.push_back({rank, rank_of(grid, at)});
  }
  return groups;
}

PartPlace part_place(const Program& program, const Role& role, const Op& op) {
  const bool gathers = op.kind == OpKind::collective && op.collective == Collective::all_gather;
  const bool scatters =
      op.kind == OpKind::collective && op.collective == Collective::reduce_scatter;
  if (!gathers && !scatters) return PartPlace::inside;
  const std::span<const SlotId> operands = program.operands(op);
  const SlotId part = root_of(role, operands[gathers ? 0 : 1]);
  if (part == root_of(role, operands[gathers ? 1 : 0])) return PartPlace::inside;
  const Space space = role.slots[part].space;
  return space == Space::statics || space == Space::step ? PartPlace::old : PartPlace::recent;
}

TransferUse transfer_of(const Program& program, const Role& role, const Op& op) {
  return {.kind = kind_of(op),
          .reduce = op.reduce,
          .dtype = op.dtype,
          .elements = op.elements,
          .groups = groups_of(program, role, op)};
}

class Lister {
 public:
  explicit Lister(const Program& program) : program_(program) {}

  void add(const Role& role) {
    std::vector<std::int64_t> counts(program_.ops.size(), 0);
    count_runs(program_, role, counts);
    std::map<std::uint32_t, std::int64_t> shapes;
    std::map<TransferKey, TransferUse> transfers;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Op& op = program_.ops[i];
      // Also what never runs: a simulation prices every op that there is.
      if (op.kind == OpKind::compute) shapes[op.shape] += counts[i];
      if (counts[i] == 0) continue;
      if (op.kind != OpKind::collective && op.kind != OpKind::send) continue;
      if (size_of(program_, op) < 2) continue;
      const TransferKey key{kind_of(op), op.dtype, op.elements, op.comm};
      const auto [use, is_new] = transfers.try_emplace(key);
      if (is_new) use->second = transfer_of(program_, role, op);
      use->second.runs += counts[i];
      use->second.part = std::max(use->second.part, part_place(program_, role, op));
    }
    for (const auto& [shape, count] : shapes) shapes_[shape] = std::max(shapes_[shape], count);
    for (auto& [key, use] : transfers) {
      TransferUse& kept = transfers_.try_emplace(key, use).first->second;
      kept.runs = std::max(kept.runs, use.runs);
      kept.part = std::max(kept.part, use.part);
    }
    touched_ = std::max(touched_, touched_bytes(role));
  }

  ProgramShapes take() {
    ProgramShapes result{.touched_bytes = touched_};
    for (const auto& [index, count] : shapes_) {
      const Shape shape = on_device(program_.shapes[index]);
      result.kernels.push_back(
          {.shape = shape,
           .runs = count,
           .rough_seconds = rough_seconds(shape) * static_cast<double>(count)});
    }
    for (auto& [key, use] : transfers_) {
      use.rough_seconds = static_cast<double>(use.runs) *
                          (kRoughLatency + static_cast<double>(use.bytes()) / kRoughTransfer);
      use.touched_bytes = touched_;
      result.transfers.push_back(use);
    }
    const auto dearer = [](const auto& a, const auto& b) {
      return a.rough_seconds > b.rough_seconds;
    };
    std::stable_sort(result.kernels.begin(), result.kernels.end(), dearer);
    std::stable_sort(result.transfers.begin(), result.transfers.end(), dearer);
    return result;
  }

 private:
  static std::int64_t touched_bytes(const Role& role) {
    std::int64_t sum = 0;
    for (const Slot& slot : role.slots) {
      if (slot.parent == kNone) sum += slot.bytes();
    }
    return sum;
  }

  const Program& program_;
  std::map<std::uint32_t, std::int64_t> shapes_;
  std::map<TransferKey, TransferUse> transfers_;
  std::int64_t touched_ = 0;
};

}  // namespace

double rough_seconds(const Shape& shape) {
  const ShapeWork work = shape_work(shape);
  return std::max(work.flops / kRoughFlops, work.bytes / kRoughBytes);
}

ProgramShapes list_shapes(const Program& program) {
  Lister lister(program);
  for (const Role& role : program.roles) lister.add(role);
  return lister.take();
}

}  // namespace windtunnel
