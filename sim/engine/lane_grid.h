#pragma once
// Lanes: the ranks of a role that are simulated side by side.
//
// Every role has the same grid of lanes over (tp, cp, dp, draw). A grid axis lists *classes* of
// coordinates: unfolded each coordinate is a class of its own; folded, coordinates that no slow
// rank or link tells apart share one. This quotient is exact: ranks of a class do the same work at
// the same times, and a collective starts at the maximum over its members, which repeated members
// do not change.
//
// lane = ((tp * cp_classes + cp) * dp_classes + dp) * draws + draw: a tp join is a vertical maximum
// over contiguous planes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "program/mesh.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

struct LaneGrid {
  /// One class of coordinates of an axis: the first of them stands for all.
  struct Class {
    int coordinate = 0;
    int count = 1;
  };
  Mesh mesh;
  std::vector<Class> tp{{}}, cp{{}}, dp{{}};
  int draws = 1;

  int lanes() const;
  int draw_of(int lane) const { return lane % draws; }
  /// The coordinates that `lane` of the role at pipeline rank `pp` stands for.
  Coordinates coordinates_of(int lane, int pp) const;
  /// Ranks of the role that `lane` stands for.
  std::int64_t ranks_of(int lane) const;
};

/// Every rank a lane of its own.
LaneGrid unfolded_grid(const Mesh& mesh, int draws);

/// The coarsest grid that keeps apart what slow ranks and links tell apart. Where a communicator
/// spans a part of the replicas, dp and cp are one class or unfolded.
LaneGrid folded_grid(const Program& program, const StepCosts& costs);

/// [lane]: the lane of the same draw at the communicator's first place, which stands for the group.
std::vector<int> group_leads(const LaneGrid& grid, const Comm& comm);

/// Replaces each lane's time by the maximum over its group (pp is not an axis of the grid and is
/// ignored).
void join_lanes(const LaneGrid& grid, const Comm& comm, std::span<Picoseconds> times);

}  // namespace windtunnel
