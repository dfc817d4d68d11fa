// Which links a group's collectives use, from the scenario's cluster to the price of an op
// (docs/cost_collectives.md). Prices are taken at sizes where bandwidth is all there is.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/cost/collective_algebra.h"
#include "models/cost/link_shares.h"
#include "models/cost/profile.h"
#include "models/cost/profile_cost.h"
#include "planning/pricing.h"
#include "sim/network/placement.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

/// NCCL's latencies beside some hundred milliseconds of transfer.
constexpr double kLatency = 5e-3;

struct Setting {
  std::string device = "h100-sxm-80gb";
  int per_node = 8, nodes = 4, nics = 8;
  std::string cluster = "";  // more keys
  std::string network = "";  // more keys
  std::string plan = "{tp: 8}";
};

/// A lowered scenario of one layer, and the prices of its groups.
struct World {
  Scenario scenario;
  Lowered lowered;
  Profile profile;

  explicit World(const Setting& q)
      : scenario(scenario_of(fmt::format(
            R"(id: links
model: {{layers: 1, hidden: 512, ffn: 1024, heads: 8, vocab: 512}}
cluster: {{device: {}, devices_per_node: {}, nodes: {}, {}
  network: {{nics_per_node: {}, nic_bandwidth: "200 Gbit/s", kind: ib{}}}}}
batch: {{global: {}, micro: 1, sequence: 64}}
plan: {}
)",
            q.device, q.per_node, q.nodes, q.cluster, q.nics, q.network, q.per_node * q.nodes,
            q.plan))),
        lowered(lower_scenario(scenario)),
        profile(load_public_profile(q.device)) {}

  Placement place(const std::string& comm, int rank = 0) const {
    for (const Comm& c : lowered.program.comms) {
      if (c.name == comm) return place_group(scenario.cluster, lowered.program.mesh, c, rank);
    }
    ADD_FAILURE() << "no communicator " << comm;
    return {};
  }

  /// Bus bandwidth of a large all-gather, GB/s.
  double bus(const std::string& comm, int rank = 0) const {
    const CollectiveQuery q{CommKind::all_gather, std::int64_t{8} << 30, place(comm, rank)};
    return bus_bandwidth(q, ProfileCostModel(profile).collective(q).time).value / 1e9;
  }
};

// tp 8 fills a node, so each of its devices has a dp group of its own on its own rail: eight groups
// of one member share eight adapters, one each: 25 GB/s less what the network loses.
TEST(Topology, EightRailAlignedGroupsUseEveryAdapter) {
  const World w({});
  const Placement p = w.place("dp");
  EXPECT_EQ(p.per_node, 1);
  EXPECT_EQ(p.groups_sharing_nics, 8);
  const double each = group_network_bandwidth(w.profile, p).value / 1e9;
  const double reached = network_efficiency(w.profile, NetworkType::ib);
  expect_relative("one adapter each", 25.0 * reached, each, 1e-12);
  expect_relative("all of the node's", 8 * 25.0 * reached, each * p.groups_sharing_nics, 1e-12);
  expect_relative("priced", each, w.bus("dp"), kLatency);
}

// One group of eight members a node has all adapters to itself.
TEST(Topology, OneGroupOfAWholeNodeUsesEveryAdapterToo) {
  const World w({.plan = "{}"});
  const Placement p = w.place("dp");
  EXPECT_EQ(p.groups_sharing_nics, 1);
  expect_relative("eight adapters", 200.0 * network_efficiency(w.profile, NetworkType::ib),
                  group_network_bandwidth(w.profile, p).value / 1e9, 1e-12);
}

TEST(Topology, OversubscriptionDividesWhatLeavesTheNode) {
  const World full({}), half({.network = ", oversubscription: 2.0"});
  expect_relative("halved", full.bus("dp") / 2, half.bus("dp"), kLatency);
  expect_relative("inside the node", full.bus("tp"), half.bus("tp"), 1e-12);
}

// Groups within a leaf have its full bandwidth, those that span leaves their part of the uplinks:
// tp inside nodes, dp 2 next to each other, stages between the leaves of two nodes.
TEST(Topology, OversubscriptionCountsForGroupsThatSpanLeaves) {
  const std::string plan = "{tp: 8, pp: 2, dp: 2}";
  const World full({.plan = plan});
  const World leaves({.network = ", oversubscription: 2.0, nodes_per_leaf: 2", .plan = plan});
  expect_relative("within a leaf", full.bus("dp"), leaves.bus("dp"), 1e-12);
  EXPECT_EQ(leaves.place("model").oversubscription, 2.0);
  EXPECT_EQ(leaves.place("dp").oversubscription, 1.0);
  const World spread({.network = ", oversubscription: 2.0, nodes_per_leaf: 3", .plan = plan});
  expect_relative("first pair within", full.bus("dp"), spread.bus("dp", 0), 1e-12);
  expect_relative("second pair across", full.bus("dp") / 2, spread.bus("dp", 16), kLatency);
}

// Fewer adapters than devices: groups share them.
TEST(Topology, GroupsShareFewAdapters) {
  const World eight({}), four({.nics = 4});
  expect_relative("two groups an adapter", eight.bus("dp") / 2, four.bus("dp"), kLatency);
}

// 20 trays of four: a domain of 72 and a partial one of 8. Groups within a domain stay on NVLink
// though they span nodes; the one pair over its edge takes the network.
TEST(Topology, AnNvlinkDomainLargerThanANodeNeedsNoAdapters) {
  const Setting rack{.device = "gb200-186gb",
                     .per_node = 4,
                     .nodes = 20,
                     .nics = 4,
                     .cluster = "nvlink_domain: 72,",
                     .plan = "{tp: 8}"};
  const World w(rack);
  for (const int rank : {0, 63, 72, 79}) {
    const Placement p = w.place("tp", rank);
    EXPECT_EQ(p.nodes, 2) << rank;
    EXPECT_EQ(p.domains, 1) << rank;
    EXPECT_EQ(reach_of(p), Reach::nvlink) << rank;
  }
  EXPECT_EQ(reach_of(w.place("dp")), Reach::network);  // the tenth replica is in the other domain
  EXPECT_EQ(w.place("dp").domains, 2);
  Setting trays = rack;
  trays.cluster = "nvlink_domain: 4,";
  const World split(trays);
  EXPECT_EQ(reach_of(split.place("tp")), Reach::network);
  EXPECT_GT(w.bus("tp"), 4 * split.bus("tp"));
}

// A slow adapter slows what leaves its domain and nothing inside one: eight devices of two nodes in
// a domain, two domains.
TEST(Topology, InsideADomainASlowAdapterIsNotNoticed) {
  const auto step = [](int nodes, const std::string& degraded) {
    return simulate(scenario_of(fmt::format(
                        R"(id: rack
model: {{layers: 4, hidden: 64, ffn: 128, heads: 8, vocab: 256}}
cluster: {{device: gb200-186gb, devices_per_node: 4, nodes: {}, nvlink_domain: 8,
  network: {{nics_per_node: 4, nic_bandwidth: "400 Gbit/s"}}, degraded: {}}}
batch: {{global: 16, micro: 1, sequence: 512}}
plan: {{tp: 8}}
)",
                        nodes, degraded)),
                    {.draws = 0})
        .report.step_time_s;
  };
  const std::string slow = R"([{node: 1, nic_bandwidth: "0.5 Gbit/s"}])";
  EXPECT_EQ(step(2, slow), step(2, "[]"));
  EXPECT_GT(step(4, slow), step(4, "[]"));
}

}  // namespace
}  // namespace windtunnel::closed_form
