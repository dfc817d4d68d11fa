#pragma once
// Rank arithmetic: ranks are numbers in a mixed radix whose digits are the parallel coordinates.
//
// A `Grid` lists axes innermost (fastest) first; rank = sum of coordinate * stride, and the stride
// of an axis is the product of the sizes before it. Dense layers and experts see the same ranks
// through two grids: the dense one has (tp, cp, dp, pp) digits and no expert axis, the expert one
// (etp, ep, edp, pp) digits; pipeline groups coincide. Orders: Megatron-LM
// megatron/core/parallel_state.py (RankGenerator) @d98e8a6; Llama 3 paper (arXiv 2407.21783) has dp
// outermost.

#include <array>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// A rank's place on each axis; axes a grid does not have stay 0.
struct Coordinates {
  int tp = 0, cp = 0, ep = 0, dp = 0, pp = 0;

  int at(Axis axis) const;
  void set(Axis axis, int value);
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

/// Axes innermost first; axes of size 1 are kept (stride of their place, coordinate 0).
struct Grid {
  std::array<Axis, 5> axes{};
  std::array<int, 5> sizes{};

  int ranks() const;
  int size(Axis axis) const;
  int stride(Axis axis) const;
};

/// The grid of dense layers: the mesh's order with ep of size 1.
Grid dense_grid(const Mesh& mesh);

/// The grid of expert layers: tp is `expert_tp`, cp is 1, dp is what is left.
/// Precondition: expert_tp * mesh.ep divides tp * cp * dp.
Grid expert_grid(const Mesh& mesh, int expert_tp);

/// Precondition: every coordinate is below its axis' size.
int rank_of(const Grid& grid, const Coordinates& coordinates);
/// Precondition: 0 <= rank < grid.ranks().
Coordinates coordinates_of(const Grid& grid, int rank);

/// Ranks, ascending, that differ from `rank` only on `axes` (a mask of Axis bits).
std::vector<int> members(const Grid& grid, std::uint8_t axes, int rank);

/// Ranks that hold the same weights and see other tokens: those of the dp and the cp axis.
inline int replica_ranks(const Mesh& mesh) {
  return mesh.dp * mesh.cp;
}

/// The axes that a group of all of them spans.
inline std::uint8_t replica_axes(const Mesh& mesh) {
  return mesh.cp > 1 ? kAxisDp | kAxisCp : kAxisDp;
}

/// A rank's replica place: its number among the ranks that differ from it on those of `axes` that
/// are dp or cp, ascending by rank.
int replica_place(const Mesh& mesh, std::uint8_t axes, const Coordinates& at);

/// Its place in its part of `ways` replica places, `step` apart (0: among all replicas).
int dp_place(const Mesh& mesh, const Coordinates& at, int ways, int step = 1);

/// Ranks of the dp part that a slot is cut over.
inline int dp_ways(const Mesh& mesh, const Slot& slot) {
  return slot.dp_ways > 0 ? slot.dp_ways : replica_ranks(mesh);
}
/// A rank's place among them.
inline int dp_place(const Mesh& mesh, const Coordinates& at, const Slot& slot) {
  return dp_place(mesh, at, slot.dp_ways, slot.dp_step);
}

/// First element of a view in its parent, on a rank and on the rank where it lies last.
std::int64_t offset_of(const Mesh& mesh, const Slot& view, const Coordinates& at);
std::int64_t last_offset_of(const Mesh& mesh, const Slot& view);

/// Places of one axis: `ways` of them, `stride` apart.
struct AxisPart {
  int ways = 1, stride = 1;
};

/// What of the cp and the dp axis a group of the communicator holds.
struct ReplicaParts {
  AxisPart cp, dp;
};
ReplicaParts replica_parts(const Mesh& mesh, const Comm& comm);

/// Replica places that an expert group spans: all of tp comes first where experts are whole on each
/// tp rank. Precondition: etp is tp, or ep a multiple of tp.
int expert_ways(const Mesh& mesh);
/// The ranks that hold all experts together.
Comm expert_group(const Mesh& mesh);
/// The ranks that hold the same experts.
Comm expert_replicas(const Mesh& mesh);
/// A rank's place in its expert group.
int expert_place(const Mesh& mesh, const Coordinates& at);

/// Members of the communicator's group that `rank` belongs to, ascending, on the dense grid; empty
/// when the communicator is restricted to a pair of stages and `rank` is on neither.
std::vector<int> members(const Mesh& mesh, const Comm& comm, int rank);

/// Size of the communicator's groups.
int group_size(const Mesh& mesh, const Comm& comm);

}  // namespace windtunnel
