// Is rank arithmetic the published one? Oracles O-120..O-123 of the closed-form table.

#include "program/mesh.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

using Group = std::vector<int>;

Mesh megatron_mesh(int tp, int cp, int dp, int pp) {
  return {.tp = tp, .cp = cp, .dp = dp, .pp = pp};
}

TEST(Mesh, O120MegatronOrderWithoutContextParallel) {
  const Grid grid = dense_grid(megatron_mesh(2, 1, 2, 4));
  EXPECT_EQ(members(grid, kAxisPp, 0), (Group{0, 4, 8, 12}));
  EXPECT_EQ(members(grid, kAxisDp, 0), (Group{0, 2}));
  EXPECT_EQ(members(grid, kAxisDp, 1), (Group{1, 3}));
}

TEST(Mesh, O121MegatronOrderWithContextParallel) {
  const Grid grid = dense_grid(megatron_mesh(2, 2, 2, 2));
  EXPECT_EQ(members(grid, kAxisTp, 1), (Group{0, 1}));
  EXPECT_EQ(members(grid, kAxisCp, 4), (Group{4, 6}));
  EXPECT_EQ(members(grid, kAxisDp, 8), (Group{8, 12}));
  EXPECT_EQ(members(grid, kAxisPp, 9), (Group{1, 9}));
  EXPECT_EQ(members(grid, kAxisDp | kAxisCp, 1), (Group{1, 3, 5, 7}));
  EXPECT_EQ(members(grid, kAxisTp | kAxisCp, 0), (Group{0, 1, 2, 3}));
}

TEST(Mesh, O122Llama3OrderHasDataParallelOutermost) {
  Mesh mesh = megatron_mesh(2, 2, 2, 2);
  mesh.order = {kAxisTp, kAxisCp, kAxisPp, kAxisDp, kAxisEp};
  const Grid grid = dense_grid(mesh);
  EXPECT_EQ(members(grid, kAxisPp, 5), (Group{1, 5}));
  EXPECT_EQ(members(grid, kAxisDp, 0), (Group{0, 8}));
  EXPECT_EQ(members(grid, kAxisDp, 9), (Group{1, 9}));
}

TEST(Mesh, O123ExpertGroups) {
  Mesh mesh = megatron_mesh(1, 1, 8, 2);
  mesh.ep = 4;
  const Grid grid = expert_grid(mesh, 1);
  EXPECT_EQ(grid.ranks(), 16);
  EXPECT_EQ(members(grid, kAxisEp, 2), (Group{0, 1, 2, 3}));
  EXPECT_EQ(members(grid, kAxisEp, 4), (Group{4, 5, 6, 7}));
  EXPECT_EQ(members(grid, kAxisDp, 4), (Group{0, 4}));
  EXPECT_EQ(members(grid, kAxisPp, 8), (Group{0, 8}));
  // The same groups as the lowering makes them, on the dense grid.
  EXPECT_EQ(members(mesh, expert_group(mesh), 2), (Group{0, 1, 2, 3}));
  EXPECT_EQ(members(mesh, expert_group(mesh), 4), (Group{4, 5, 6, 7}));
  EXPECT_EQ(members(mesh, expert_replicas(mesh), 4), (Group{0, 4}));
}

TEST(Mesh, ExpertGroupsSpanTpOrShareEachExpertOverIt) {
  Mesh mesh = megatron_mesh(2, 1, 4, 1);
  mesh.ep = 4;
  EXPECT_EQ(members(mesh, expert_group(mesh), 5), (Group{4, 5, 6, 7}));
  EXPECT_EQ(members(mesh, expert_replicas(mesh), 5), (Group{1, 5}));
  EXPECT_EQ(expert_place(mesh, {.tp = 1, .dp = 3}), 3);
  mesh.etp = 2;
  mesh.ep = 2;
  EXPECT_EQ(members(mesh, expert_group(mesh), 5), (Group{5, 7}));
  EXPECT_EQ(members(mesh, expert_replicas(mesh), 5), (Group{1, 5}));
  EXPECT_EQ(expert_place(mesh, {.tp = 1, .dp = 3}), 1);
}

// The rest of a stage's ranks: Megatron-LM's expert grid has etp, ep and edp digits and no cp.
TEST(Mesh, ExpertGroupsLieAcrossContextParallelRanks) {
  Mesh mesh = megatron_mesh(2, 2, 4, 2);
  mesh.ep = 4;
  for (const auto& [etp, ep] : {std::pair{2, 4}, {1, 4}, {1, 8}, {2, 2}, {2, 8}}) {
    mesh.etp = etp;
    mesh.ep = ep;
    const Grid grid = expert_grid(mesh, etp);
    for (int rank = 0; rank < 32; ++rank) {
      EXPECT_EQ(members(mesh, expert_group(mesh), rank), members(grid, kAxisEp, rank));
      EXPECT_EQ(members(mesh, expert_replicas(mesh), rank), members(grid, kAxisDp, rank));
      EXPECT_EQ(expert_place(mesh, coordinates_of(dense_grid(mesh), rank)),
                coordinates_of(grid, rank).ep);
    }
  }
}

TEST(Mesh, ReplicaPlacesCountTheInnerAxisFastest) {
  Mesh mesh = megatron_mesh(2, 2, 3, 1);
  const Comm all{.name = "dp", .axes = replica_axes(mesh)};
  EXPECT_EQ(members(mesh, all, 1), (Group{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(group_size(mesh, all), 6);
  constexpr std::array<Axis, 5> kDpInside{kAxisDp, kAxisTp, kAxisCp, kAxisEp, kAxisPp};
  for (const auto& order : {mesh.order, kDpInside}) {
    mesh.order = order;
    for (int rank = 0; rank < 12; ++rank) {
      const Coordinates at = coordinates_of(dense_grid(mesh), rank);
      const Group group = members(mesh, all, rank);
      const int place = dp_place(mesh, at, 0);
      EXPECT_EQ(group[static_cast<std::size_t>(place)], rank);
      EXPECT_EQ(dp_place(mesh, at, 2), place % 2);
    }
  }
}

TEST(Mesh, PartsOfReplicas) {
  const Mesh mesh = megatron_mesh(1, 4, 2, 1);
  const auto group = [&](int ways, int stride, std::uint8_t axes, int rank) {
    return members(mesh, {.axes = axes, .ways = ways, .stride = stride}, rank);
  };
  const std::uint8_t all = replica_axes(mesh);
  EXPECT_EQ(group(4, 1, all, 6), (Group{4, 5, 6, 7}));  // shards of one context-parallel group
  EXPECT_EQ(group(2, 4, all, 6), (Group{2, 6}));        // their replicas
  EXPECT_EQ(group(2, 1, all, 6), (Group{6, 7}));        // shards inside one
  EXPECT_EQ(group(4, 2, all, 6), (Group{0, 2, 4, 6}));
  EXPECT_EQ(group(2, 1, kAxisCp, 5), (Group{4, 5}));  // an exchange of heads
  EXPECT_EQ(group(2, 2, kAxisCp, 5), (Group{5, 7}));  // the ring across
  const ReplicaParts inside = replica_parts(mesh, {.axes = all, .ways = 4, .stride = 2});
  EXPECT_EQ(inside.cp.ways, 2);
  EXPECT_EQ(inside.cp.stride, 2);
  EXPECT_EQ(inside.dp.ways, 2);
  EXPECT_EQ(inside.dp.stride, 1);
}

TEST(Mesh, CoordinatesAndRankAreInverse) {
  Mesh mesh = megatron_mesh(2, 3, 5, 4);
  mesh.order = {kAxisCp, kAxisPp, kAxisTp, kAxisEp, kAxisDp};
  const Grid grid = dense_grid(mesh);
  ASSERT_EQ(grid.ranks(), 120);
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    EXPECT_EQ(rank_of(grid, coordinates_of(grid, rank)), rank);
  }
}

TEST(Mesh, GroupsOfAnAxisPartitionTheRanks) {
  const Grid grid = dense_grid(megatron_mesh(2, 2, 3, 2));
  std::vector<int> seen(static_cast<std::size_t>(grid.ranks()), 0);
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const Group group = members(grid, kAxisTp | kAxisDp, rank);
    EXPECT_EQ(group.size(), 6U);
    if (group.front() == rank) {
      for (const int member : group) ++seen[static_cast<std::size_t>(member)];
    }
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST(Mesh, StagePairsHoldTheStagesThatMirrorEachOther) {
  const Mesh mesh = megatron_mesh(2, 1, 2, 4);
  const Comm embedding{.name = "embedding", .axes = kAxisPp, .stage_pair = 0};
  EXPECT_EQ(members(mesh, embedding, 13), (Group{1, 13}));
  EXPECT_TRUE(members(mesh, embedding, 4).empty());
  EXPECT_EQ(group_size(mesh, embedding), 2);
  const Comm inner{.name = "copies1", .axes = kAxisPp, .stage_pair = 1};
  EXPECT_EQ(members(mesh, inner, 9), (Group{5, 9}));
  EXPECT_TRUE(members(mesh, inner, 13).empty());
  const Comm model{.name = "model", .axes = kAxisPp | kAxisTp};
  EXPECT_EQ(group_size(mesh, model), 8);
  EXPECT_EQ(members(mesh, model, 3), (Group{2, 3, 6, 7, 10, 11, 14, 15}));
}

}  // namespace
}  // namespace windtunnel
