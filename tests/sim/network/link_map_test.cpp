// Do collectives and transfers load the links they use, by as much as their closed forms say?

#include "sim/network/link_map.h"

#include <gtest/gtest.h>

#include <map>

#include "models/cost/collective_algebra.h"
#include "sim/network/placement.h"

namespace windtunnel {
namespace {

/// Weights are sums of a few quotients of small integers.
constexpr double kRounding = 1e-12;
constexpr LinkSpeeds kSpeeds{.nvlink = 450e9, .pcie = 60e9, .host = 20e9, .nic_share = 0.9};

Cluster cluster(int nodes, int domain = 8, double oversubscription = 1) {
  Cluster c{
      .device = "h100-sxm-80gb", .devices_per_node = 8, .nodes = nodes, .nvlink_domain = domain};
  c.network = NetworkSpec{
      .nics_per_node = 4, .nic_bandwidth = {50e9}, .oversubscription = oversubscription};
  return c;
}

using Named = std::map<std::string, double>;
Named named(const LinkMap& map, const std::vector<LinkLoad>& loads) {
  Named result;
  for (const LinkLoad& load : loads) result[map.name_of(load.link)] = load.weight;
  return result;
}

/// Weight by kind, summed over places.
std::map<LinkKind, double> by_kind(const LinkMap& map, const std::vector<LinkLoad>& loads) {
  std::map<LinkKind, double> result;
  for (const LinkLoad& load : loads) result[map.kind_of(load.link)] += load.weight;
  return result;
}

double capacity(const LinkMap& map, const std::string& name) {
  for (std::uint32_t link = 0; link < map.links(); ++link) {
    if (map.name_of(link) == name) return map.capacity(link);
  }
  return -1;
}

TEST(LinkMap, CapacitiesComeFromTheNetworkAndTheDevice) {
  const LinkMap map(cluster(2, 8, 4.0), kSpeeds);
  EXPECT_DOUBLE_EQ(capacity(map, "node 1 NICs out"), 4 * 50e9 * 0.9);
  EXPECT_DOUBLE_EQ(capacity(map, "node 1 uplink in"), 50e9 * 0.9);
  EXPECT_DOUBLE_EQ(capacity(map, "rank 15 NVLink in"), 450e9);
  EXPECT_DOUBLE_EQ(capacity(map, "rank 0 PCIe out"), 60e9);
}

TEST(LinkMap, RingOverNodesLoadsEachMembersNicByTheWireBytes) {
  // One member on each of 4 nodes: 2(n-1)/n S of an all-reduce leaves and enters every node.
  const LinkMap map(cluster(4), kSpeeds);
  const std::vector<int> members{3, 11, 19, 27};
  const Named loads = named(map, map.of_group(CommKind::all_reduce, members));
  EXPECT_EQ(loads.size(), 8u);
  constexpr std::int64_t kBytes = 1'000'000;
  for (int node = 0; node < 4; ++node) {
    for (const char* direction : {" NICs out", " NICs in"}) {
      const double weight = loads.at("node " + std::to_string(node) + direction);
      EXPECT_DOUBLE_EQ(weight * double(wire_bytes(CommKind::all_reduce, 4, kBytes)),
                       2.0 * 3 / 4 * kBytes);
    }
  }
}

TEST(LinkMap, RingInADomainUsesNvlinkAlone) {
  const LinkMap map(cluster(2), kSpeeds);
  const Named expected{{"rank 8 NVLink out", 1},
                       {"rank 8 NVLink in", 1},
                       {"rank 9 NVLink out", 1},
                       {"rank 9 NVLink in", 1}};
  EXPECT_EQ(named(map, map.of_group(CommKind::all_gather, {8, 9})), expected);
}

TEST(LinkMap, HierarchicalGroupLeavesEveryNodeOnce) {
  // 4 members on each of 2 nodes: one ring leaves each node once; 3 of 4 members send inside.
  const LinkMap map(cluster(2), kSpeeds);
  const auto loads = map.of_group(CommKind::reduce_scatter, {0, 2, 4, 6, 8, 10, 12, 14});
  const Named by_name = named(map, loads);
  EXPECT_NEAR(by_name.at("node 0 NICs out"), 1.0, kRounding);
  EXPECT_NEAR(by_name.at("node 1 NICs in"), 1.0, kRounding);
  EXPECT_NEAR(by_name.at("rank 4 NVLink out"), 0.75, kRounding);
  // Every edge of the ring is somewhere.
  auto kinds = by_kind(map, loads);
  EXPECT_NEAR(kinds[LinkKind::nic_out] + kinds[LinkKind::nvlink_out], 8.0, kRounding);
}

TEST(LinkMap, IslandOverNodesLeavesByAllOfThem) {
  // Domains of two nodes: the group's 4 members per domain leave by both nodes of it.
  const LinkMap map(cluster(4, 16), kSpeeds);
  const auto loads = map.of_group(CommKind::all_reduce, {0, 4, 8, 12, 16, 20, 24, 28});
  const Named by_name = named(map, loads);
  EXPECT_NEAR(by_name.at("node 0 NICs out"), 0.5, kRounding);
  EXPECT_NEAR(by_name.at("node 3 NICs in"), 0.5, kRounding);
}

TEST(LinkMap, AllToAllSendsToEveryOtherMember) {
  // Brute force: S/n from each member to each other, wire bytes (n-1)/n S.
  const Cluster c = cluster(3);
  const LinkMap map(c, kSpeeds);
  const std::vector<int> members{0, 1, 2, 8, 9, 16};
  const double part = 1.0 / (double(members.size()) - 1);  // of the work, per peer
  Named expected;
  for (const int from : members) {
    for (const int to : members) {
      for (const auto& [name, weight] : named(map, map.of_transfer(from, to))) {
        expected[name] += weight * part;
      }
    }
  }
  const Named got = named(map, map.of_group(CommKind::all_to_all, members));
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, weight] : expected) EXPECT_NEAR(got.at(name), weight, kRounding) << name;
}

TEST(LinkMap, TransfersLeaveByWhatConnectsTheirEnds) {
  const LinkMap map(cluster(2, 4, 2.0), kSpeeds);
  EXPECT_EQ(named(map, map.of_transfer(0, 3)),
            (Named{{"rank 0 NVLink out", 1}, {"rank 3 NVLink in", 1}}));
  EXPECT_EQ(named(map, map.of_transfer(0, 4)),
            (Named{{"rank 0 PCIe out", 1}, {"rank 4 PCIe in", 1}}));
  EXPECT_EQ(named(map, map.of_transfer(9, 2)), (Named{{"node 1 NICs out", 1},
                                                      {"node 0 NICs in", 1},
                                                      {"node 1 uplink out", 1},
                                                      {"node 0 uplink in", 1}}));
  EXPECT_TRUE(map.of_transfer(5, 5).empty());
}

TEST(LinkMap, DomainsOfOneNodeMeetOverPcie) {
  const LinkMap map(cluster(1, 2), kSpeeds);
  const auto kinds = by_kind(map, map.of_group(CommKind::all_reduce, {0, 1, 2, 3}));
  EXPECT_EQ(kinds, (std::map<LinkKind, double>{{LinkKind::pcie_out, 4}, {LinkKind::pcie_in, 4}}));
}

TEST(LinkMap, RanksOfACpuNodeShareItsMemory) {
  Cluster c = cluster(2);
  c.device = "cpu";
  const LinkMap map(c, kSpeeds);
  EXPECT_EQ(named(map, map.of_group(CommKind::all_reduce, {0, 1, 2})),
            (Named{{"node 0 memory", 3}}));
  EXPECT_EQ(named(map, map.of_transfer(8, 10)), (Named{{"node 1 memory", 1}}));
  EXPECT_EQ(named(map, map.of_transfer(0, 8)),
            (Named{{"node 0 NICs out", 1}, {"node 1 NICs in", 1}}));
}

TEST(LinkMap, GroupsOfAMeshFillTheNicsAsThePlacementCountsThem) {
  // tp2 dp16 on 4 nodes: two dp groups on every node.
  const Mesh mesh{.tp = 2, .dp = 16};
  const Comm dp{.name = "dp", .axes = kAxisDp};
  const LinkMap map(cluster(4), kSpeeds);
  Named sum;
  for (const int rank : {0, 1}) {
    for (const auto& [name, weight] :
         named(map, loads_of_group(map, mesh, dp, CommKind::all_reduce, rank))) {
      sum[name] += weight;
    }
  }
  const Placement placed = place_group(cluster(4), mesh, dp, 0);
  for (int node = 0; node < 4; ++node) {
    EXPECT_NEAR(sum.at("node " + std::to_string(node) + " NICs out"), placed.groups_sharing_nics,
                kRounding);
  }
}

TEST(LinkMap, OneMemberLoadsNothing) {
  const LinkMap map(cluster(1), kSpeeds);
  EXPECT_TRUE(map.of_group(CommKind::all_reduce, {5}).empty());
}

}  // namespace
}  // namespace windtunnel
