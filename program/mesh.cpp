#include "program/mesh.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

std::size_t place_of(const Grid& grid, Axis axis) {
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    if (grid.axes[i] == axis) return i;
  }
  return grid.axes.size();
}

}  // namespace

int Coordinates::at(Axis axis) const {
  switch (axis) {
    case kAxisTp:
      return tp;
    case kAxisCp:
      return cp;
    case kAxisEp:
      return ep;
    case kAxisDp:
      return dp;
    case kAxisPp:
      return pp;
  }
  CHECK(false, "one axis at a time");
  return 0;
}

void Coordinates::set(Axis axis, int value) {
  switch (axis) {
    case kAxisTp:
      tp = value;
      return;
    case kAxisCp:
      cp = value;
      return;
    case kAxisEp:
      ep = value;
      return;
    case kAxisDp:
      dp = value;
      return;
    case kAxisPp:
      pp = value;
      return;
  }
  CHECK(false, "one axis at a time");
}

int Grid::ranks() const {
  int total = 1;
  for (const int s : sizes) total *= s;
  return total;
}

int Grid::size(Axis axis) const {
  const std::size_t place = place_of(*this, axis);
  CHECK(place < axes.size(), "every axis stands in the order");
  return sizes[place];
}

int Grid::stride(Axis axis) const {
  const std::size_t place = place_of(*this, axis);
  CHECK(place < axes.size(), "every axis stands in the order");
  int product = 1;
  for (std::size_t i = 0; i < place; ++i) product *= sizes[i];
  return product;
}

Grid dense_grid(const Mesh& mesh) {
  Grid grid{.axes = mesh.order, .sizes = {}};
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    switch (grid.axes[i]) {
      case kAxisTp:
        grid.sizes[i] = mesh.tp;
        break;
      case kAxisCp:
        grid.sizes[i] = mesh.cp;
        break;
      case kAxisEp:
        grid.sizes[i] = 1;
        break;
      case kAxisDp:
        grid.sizes[i] = mesh.dp;
        break;
      case kAxisPp:
        grid.sizes[i] = mesh.pp;
        break;
    }
  }
  return grid;
}

Grid expert_grid(const Mesh& mesh, int expert_tp) {
  const int per_stage = mesh.tp * mesh.cp * mesh.dp;
  CHECK(expert_tp > 0 && per_stage % (expert_tp * mesh.ep) == 0,
        "expert tp * ep divides the ranks of a pipeline stage");
  Mesh expert = mesh;
  expert.tp = expert_tp;
  expert.cp = 1;
  expert.dp = per_stage / (expert_tp * mesh.ep);
  Grid grid = dense_grid(expert);
  grid.sizes[place_of(grid, kAxisEp)] = mesh.ep;
  return grid;
}

int rank_of(const Grid& grid, const Coordinates& coordinates) {
  int rank = 0;
  int stride = 1;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    const int digit = coordinates.at(grid.axes[i]);
    CHECK(digit >= 0 && digit < grid.sizes[i], "coordinate within its axis");
    rank += digit * stride;
    stride *= grid.sizes[i];
  }
  return rank;
}

Coordinates coordinates_of(const Grid& grid, int rank) {
  CHECK(rank >= 0 && rank < grid.ranks(), "rank within the grid");
  Coordinates coordinates;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    coordinates.set(grid.axes[i], rank % grid.sizes[i]);
    rank /= grid.sizes[i];
  }
  return coordinates;
}

std::vector<int> members(const Grid& grid, std::uint8_t axes, int rank) {
  Coordinates base = coordinates_of(grid, rank);
  for (const Axis axis : grid.axes) {
    if (axes & axis) base.set(axis, 0);
  }
  std::vector<int> result{rank_of(grid, base)};
  int stride = 1;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    if (axes & grid.axes[i]) {
      const std::size_t before = result.size();
      for (int k = 1; k < grid.sizes[i]; ++k) {
        for (std::size_t j = 0; j < before; ++j) result.push_back(result[j] + k * stride);
      }
    }
    stride *= grid.sizes[i];
  }
  return result;  // ascending: what inner axes add stays below an outer axis' stride
}

namespace {

/// The inner and the outer of the two replica axes.
std::array<Axis, 2> by_stride(const Mesh& mesh) {
  const Grid grid = dense_grid(mesh);
  const bool cp_inner = place_of(grid, kAxisCp) < place_of(grid, kAxisDp);
  return cp_inner ? std::array{kAxisCp, kAxisDp} : std::array{kAxisDp, kAxisCp};
}

int spanned(const Mesh& mesh, std::uint8_t axes, Axis axis) {
  if ((axes & axis) == 0) return 1;
  return axis == kAxisCp ? mesh.cp : mesh.dp;
}

}  // namespace

int replica_place(const Mesh& mesh, std::uint8_t axes, const Coordinates& at) {
  const auto [inner, outer] = by_stride(mesh);
  const int below = (axes & inner) != 0 ? at.at(inner) : 0;
  const int above = (axes & outer) != 0 ? at.at(outer) : 0;
  return below + above * spanned(mesh, axes, inner);
}

int dp_place(const Mesh& mesh, const Coordinates& at, int ways, int step) {
  const int place = replica_place(mesh, kAxisDp | kAxisCp, at);
  return ways > 0 ? place / step % ways : place;
}

std::int64_t offset_of(const Mesh& mesh, const Slot& view, const Coordinates& at) {
  const int tp_place = (at.tp - view.tp_back + mesh.tp) % mesh.tp;
  return view.offset + view.dp_stride * dp_place(mesh, at, view) + view.tp_stride * tp_place;
}

std::int64_t last_offset_of(const Mesh& mesh, const Slot& view) {
  return view.offset + view.dp_stride * (dp_ways(mesh, view) - 1) + view.tp_stride * (mesh.tp - 1);
}

ReplicaParts replica_parts(const Mesh& mesh, const Comm& comm) {
  const auto [inner, outer] = by_stride(mesh);
  const int in = spanned(mesh, comm.axes, inner), out = spanned(mesh, comm.axes, outer);
  AxisPart below{.ways = in}, above{.ways = out};
  if (comm.ways > 0 && comm.stride % in == 0) {
    below = {};
    above = {.ways = comm.ways, .stride = comm.stride / in};
  } else if (comm.ways > 0) {
    below = {.ways = std::min(comm.ways, in / comm.stride), .stride = comm.stride};
    above = {.ways = comm.ways / below.ways};
    CHECK(in % comm.stride == 0 && below.ways * above.ways == comm.ways,
          "a group of replicas holds whole rows of the inner axis, or lies in one");
  }
  return inner == kAxisCp ? ReplicaParts{.cp = below, .dp = above}
                          : ReplicaParts{.cp = above, .dp = below};
}

namespace {

/// Number of the communicator's group, among those that differ in replica places alone.
int replica_group(const Mesh& mesh, const Comm& comm, const Coordinates& at) {
  const int place = replica_place(mesh, comm.axes, at);
  return place / (comm.ways * comm.stride) * comm.stride + place % comm.stride;
}

}  // namespace

std::vector<int> members(const Mesh& mesh, const Comm& comm, int rank) {
  const Grid grid = dense_grid(mesh);
  std::vector<int> all = members(grid, comm.axes, rank);
  if (comm.ways > 0) {
    const int own = replica_group(mesh, comm, coordinates_of(grid, rank));
    std::erase_if(all,
                  [&](int r) { return replica_group(mesh, comm, coordinates_of(grid, r)) != own; });
  }
  if (comm.stage_pair < 0) return all;
  const auto is_member = [&](int r) { return comm.has_stage(coordinates_of(grid, r).pp, mesh.pp); };
  if (!is_member(rank)) return {};
  std::erase_if(all, [&](int r) { return !is_member(r); });
  return all;
}

int expert_ways(const Mesh& mesh) {
  const int ways = mesh.etp == mesh.tp ? mesh.ep : mesh.ep / mesh.tp;
  CHECK(ways > 0 && mesh.ep % ways == 0 && replica_ranks(mesh) % ways == 0,
        "expert groups span whole tp groups and divide the replicas");
  return ways;
}

Comm expert_group(const Mesh& mesh) {
  const int axes = mesh.etp == mesh.tp ? replica_axes(mesh) : kAxisTp | replica_axes(mesh);
  return {.name = "ep", .axes = static_cast<std::uint8_t>(axes), .ways = expert_ways(mesh)};
}

Comm expert_replicas(const Mesh& mesh) {
  const int ways = expert_ways(mesh);
  Comm comm{.name = "edp", .axes = replica_axes(mesh)};
  if (ways == 1) return comm;
  comm.ways = replica_ranks(mesh) / ways;
  comm.stride = ways;
  return comm;
}

int expert_place(const Mesh& mesh, const Coordinates& at) {
  if (mesh.ep == 1) return 0;
  const int rank = rank_of(dense_grid(mesh), at);
  const std::vector<int> group = members(mesh, expert_group(mesh), rank);
  return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
}

int group_size(const Mesh& mesh, const Comm& comm) {
  int size = 1;
  if (comm.axes & kAxisTp) size *= mesh.tp;
  if (comm.ways > 0) {
    size *= comm.ways;
  } else {
    size *= spanned(mesh, comm.axes, kAxisCp) * spanned(mesh, comm.axes, kAxisDp);
  }
  if (comm.axes & kAxisPp) {
    size *= comm.stage_pair >= 0 ? std::min(2, mesh.pp) : mesh.pp;
  }
  return size;
}

}  // namespace windtunnel
