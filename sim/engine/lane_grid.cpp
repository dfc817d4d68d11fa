#include "sim/engine/lane_grid.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

std::vector<LaneGrid::Class> one_class_each(int size) {
  std::vector<LaneGrid::Class> classes;
  for (int i = 0; i < size; ++i) classes.push_back({.coordinate = i, .count = 1});
  return classes;
}

/// Coordinates of `axis` grouped by what the slow ranks at that coordinate look like.
std::vector<LaneGrid::Class> classes_of(const Mesh& mesh, Axis axis, const StepCosts& costs) {
  const Grid grid = dense_grid(mesh);
  // Where on the other axes a slow rank or link stands, on which communicator, and how slow it is.
  using Signature = std::vector<std::tuple<int, std::uint32_t, double, std::uint32_t>>;
  std::vector<Signature> signatures(static_cast<std::size_t>(grid.size(axis)));
  const auto note = [&](int rank, std::uint32_t comm, double factor, std::uint32_t by_op) {
    Coordinates place = coordinates_of(grid, rank);
    const int coordinate = place.at(axis);
    place.set(axis, 0);
    signatures[static_cast<std::size_t>(coordinate)].emplace_back(rank_of(grid, place), comm,
                                                                  factor, by_op);
  };
  for (const SlowRank& slow : costs.slow_ranks) note(slow.rank, kNone, slow.factor, kNone);
  for (const SlowLink& slow : costs.slow_links) {
    note(slow.rank, slow.comm, slow.factor, slow.by_op);
  }
  std::vector<LaneGrid::Class> classes;
  std::map<Signature, std::size_t> class_of;
  for (int i = 0; i < grid.size(axis); ++i) {
    Signature& signature = signatures[static_cast<std::size_t>(i)];
    std::sort(signature.begin(), signature.end());
    const auto [place, is_new] = class_of.try_emplace(std::move(signature), classes.size());
    if (is_new) {
      classes.push_back({.coordinate = i, .count = 1});
    } else {
      ++classes[place->second].count;
    }
  }
  return classes;
}

int size_of(const std::vector<LaneGrid::Class>& classes) {
  return static_cast<int>(classes.size());
}

}  // namespace

int LaneGrid::lanes() const {
  return size_of(tp) * size_of(cp) * size_of(dp) * draws;
}

Coordinates LaneGrid::coordinates_of(int lane, int pp) const {
  lane /= draws;
  const auto take = [&lane](const std::vector<Class>& classes) {
    const int place = lane % size_of(classes);
    lane /= size_of(classes);
    return classes[static_cast<std::size_t>(place)].coordinate;
  };
  Coordinates result{.pp = pp};
  result.dp = take(dp);
  result.cp = take(cp);
  result.tp = take(tp);
  return result;
}

std::int64_t LaneGrid::ranks_of(int lane) const {
  lane /= draws;
  std::int64_t ranks = 1;
  for (const auto* classes : {&dp, &cp, &tp}) {
    ranks *= (*classes)[static_cast<std::size_t>(lane % size_of(*classes))].count;
    lane /= size_of(*classes);
  }
  return ranks;
}

LaneGrid unfolded_grid(const Mesh& mesh, int draws) {
  return {.tp = one_class_each(mesh.tp),
          .cp = one_class_each(mesh.cp),
          .dp = one_class_each(mesh.dp),
          .draws = draws};
}

LaneGrid folded_grid(const Program& program, const StepCosts& costs) {
  const Mesh& mesh = program.mesh;
  LaneGrid grid{.tp = classes_of(mesh, kAxisTp, costs),
                .cp = classes_of(mesh, kAxisCp, costs),
                .dp = classes_of(mesh, kAxisDp, costs),
                .draws = costs.draws};
  const bool splits_dp = std::any_of(program.comms.begin(), program.comms.end(),
                                     [](const Comm& comm) { return comm.dp_ways > 0; });
  if (splits_dp && grid.dp.size() > 1) grid.dp = one_class_each(mesh.dp);
  return grid;
}

namespace {

/// Places of the dp axis that a communicator joins: `ways` of them, `stride` apart. A dp axis of
/// one class stands for all of them.
struct DpPart {
  int ways = 1, stride = 1;
};

DpPart dp_part(const LaneGrid& grid, const Comm& comm) {
  const int dp = size_of(grid.dp);
  if ((comm.axes & kAxisDp) == 0 || dp == 1) return {};
  if (comm.dp_ways == 0) return {.ways = dp, .stride = 1};
  CHECK(dp % (comm.dp_ways * comm.dp_stride) == 0, "parts of the dp axis are not folded");
  return {.ways = comm.dp_ways, .stride = comm.dp_stride};
}

}  // namespace

std::vector<int> group_leads(const LaneGrid& grid, const Comm& comm) {
  const int cp = size_of(grid.cp), dp = size_of(grid.dp);
  const auto place = [&](int coordinate, Axis axis) {
    return (comm.axes & axis) != 0 ? 0 : coordinate;
  };
  const DpPart part = dp_part(grid, comm);
  const int block = part.ways * part.stride;
  std::vector<int> leads;
  for (int lane = 0; lane < grid.lanes(); ++lane) {
    const int rank = lane / grid.draws;
    const int own_dp = rank % dp;
    const int at_dp = own_dp / block * block + own_dp % part.stride;
    const int at_cp = place(rank / dp % cp, kAxisCp);
    const int at_tp = place(rank / dp / cp, kAxisTp);
    leads.push_back(((at_tp * cp + at_cp) * dp + at_dp) * grid.draws + grid.draw_of(lane));
  }
  return leads;
}

void join_lanes(const LaneGrid& grid, const Comm& comm, std::span<Picoseconds> times) {
  CHECK((comm.axes & kAxisEp) == 0 || (comm.axes & kAxisDp) != 0,
        "expert groups that split the data-parallel axis have no lanes of their own yet");
  const int tp = size_of(grid.tp);
  const int cp = size_of(grid.cp);
  const int dp = size_of(grid.dp);
  const DpPart part = dp_part(grid, comm);
  if (part.ways > 1) {
    lane_math::join_axis(times.data(), {.outer = tp * cp * dp / (part.ways * part.stride),
                                        .length = part.ways,
                                        .inner = part.stride * grid.draws});
  }
  if ((comm.axes & kAxisCp) && cp > 1) {
    lane_math::join_axis(times.data(), {.outer = tp, .length = cp, .inner = dp * grid.draws});
  }
  if ((comm.axes & kAxisTp) && tp > 1) {
    lane_math::join_axis(times.data(), {.outer = 1, .length = tp, .inner = cp * dp * grid.draws});
  }
}

}  // namespace windtunnel
