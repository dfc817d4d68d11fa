// Do groups land on the nodes and links they should? Oracle O-124 and the worked example of 128
// devices.

#include "sim/network/placement.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

Cluster cluster(int nodes, int nics) {
  Cluster c{.device = "h100-sxm-80gb", .devices_per_node = 8, .nodes = nodes, .nvlink_domain = 8};
  c.network = NetworkSpec{.nics_per_node = nics, .nic_bandwidth = {50e9}};
  return c;
}

// 16 nodes of 8: tp8 cp2 dp2 pp4.
const Mesh kMesh{.tp = 8, .cp = 2, .dp = 2, .pp = 4};

TEST(Placement, O124StrideEightCrossesToOneMemberEach) {
  const Comm cp{.name = "cp", .axes = kAxisCp};
  const Placement p = place_group(cluster(16, 8), kMesh, cp, 3);
  EXPECT_EQ(p.ranks, 2);
  EXPECT_EQ(p.nodes, 2);
  EXPECT_EQ(p.per_node, 1);
  EXPECT_EQ(p.groups_sharing_nics, 8);
}

TEST(Placement, TensorParallelStaysInsideTheNode) {
  const Comm tp{.name = "tp", .axes = kAxisTp};
  const Placement p = place_group(cluster(16, 8), kMesh, tp, 77);
  EXPECT_EQ(p.nodes, 1);
  EXPECT_EQ(p.domains, 1);
  EXPECT_EQ(p.per_domain, 8);
  EXPECT_EQ(p.groups_sharing_nics, 1);
}

TEST(Placement, DataParallelMembersPerNode) {
  // tp2 dp16 on 4 nodes: a data-parallel group has 4 members on each node, two groups a node.
  const Mesh mesh{.tp = 2, .dp = 16};
  const Comm dp{.name = "dp", .axes = kAxisDp};
  const Placement p = place_group(cluster(4, 8), mesh, dp, 9);
  EXPECT_EQ(p.ranks, 16);
  EXPECT_EQ(p.nodes, 4);
  EXPECT_EQ(p.per_node, 4);
  EXPECT_EQ(p.groups_sharing_nics, 2);
}

TEST(Placement, TensorParallelOverTwoNodesHasTheNodesToItself) {
  const Mesh mesh{.tp = 16, .dp = 2};
  const Comm tp{.name = "tp", .axes = kAxisTp};
  const Placement p = place_group(cluster(4, 4), mesh, tp, 20);
  EXPECT_EQ(p.nodes, 2);
  EXPECT_EQ(p.per_node, 8);
  EXPECT_EQ(p.groups_sharing_nics, 1);
  EXPECT_EQ(p.nics_per_node, 4);
}

TEST(Placement, PipelineHopsOfANodeShareItsNics) {
  const Placement over = place_pipeline_hop(cluster(16, 8), kMesh, 5);
  EXPECT_EQ(over.ranks, 2);
  EXPECT_EQ(over.nodes, 2);
  EXPECT_EQ(over.groups_sharing_nics, 8);
  // pp8 on one node: hops stay on NVLink.
  const Placement within = place_pipeline_hop(cluster(1, 8), Mesh{.pp = 8}, 2);
  EXPECT_EQ(within.nodes, 1);
  EXPECT_EQ(within.groups_sharing_nics, 1);
  // tp2 pp8 on two nodes: only the hop from stage 3 to stage 4 leaves the node.
  const Mesh mixed{.tp = 2, .pp = 8};
  EXPECT_EQ(place_pipeline_hop(cluster(2, 8), mixed, 2).nodes, 1);
  EXPECT_EQ(place_pipeline_hop(cluster(2, 8), mixed, 6).nodes, 2);
  EXPECT_EQ(place_pipeline_hop(cluster(2, 8), mixed, 6).groups_sharing_nics, 2);
}

TEST(Placement, AnNvlinkDomainOverNodesIsOneIsland) {
  Cluster rack = cluster(18, 4);
  rack.devices_per_node = 4;
  rack.nvlink_domain = 72;
  const Comm dp{.name = "dp", .axes = kAxisDp};
  const Placement p = place_group(rack, Mesh{.dp = 72}, dp, 40);
  EXPECT_EQ(p.nodes, 18);
  EXPECT_EQ(p.domains, 1);
  EXPECT_EQ(p.per_domain, 72);
  EXPECT_EQ(p.groups_sharing_nics, 1);
}

TEST(Placement, RanksOutsideTheEmbeddingGroupAreAlone) {
  const Comm embedding{.name = "embedding", .axes = kAxisPp, .stage_pair = 0};
  EXPECT_EQ(place_group(cluster(16, 8), kMesh, embedding, 40).ranks, 1);
  EXPECT_EQ(place_group(cluster(16, 8), kMesh, embedding, 100).ranks, 2);
}

}  // namespace
}  // namespace windtunnel
