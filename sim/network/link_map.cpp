#include "sim/network/link_map.h"

#include <algorithm>
#include <map>

#include "core/check.h"
#include "sim/network/placement.h"

namespace windtunnel {

namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(LinkKind::count);

struct KindRow {
  LinkKind kind;
  bool of_device;  // else of a node
  const char* name;
};
constexpr KindRow kRows[kKinds] = {
    {LinkKind::nvlink_out, true, "NVLink out"}, {LinkKind::nvlink_in, true, "NVLink in"},
    {LinkKind::pcie_out, true, "PCIe out"},     {LinkKind::pcie_in, true, "PCIe in"},
    {LinkKind::host, false, "memory"},          {LinkKind::nic_out, false, "NICs out"},
    {LinkKind::nic_in, false, "NICs in"},       {LinkKind::uplink_out, false, "uplink out"},
    {LinkKind::uplink_in, false, "uplink in"},
};

double speed_of(LinkKind kind, const Cluster& cluster, const LinkSpeeds& speeds) {
  switch (kind) {
    case LinkKind::nvlink_out:
    case LinkKind::nvlink_in:
      return speeds.nvlink;
    case LinkKind::pcie_out:
    case LinkKind::pcie_in:
      return speeds.pcie;
    case LinkKind::host:
      return speeds.host;
    default:
      break;
  }
  if (!cluster.network) return 0.0;
  const double nics = cluster.network->nic_bandwidth.value * cluster.network->nics_per_node;
  const bool uplink = kind == LinkKind::uplink_out || kind == LinkKind::uplink_in;
  return nics * speeds.nic_share / (uplink ? cluster.network->oversubscription : 1.0);
}

bool on_cpu(const Cluster& cluster) {
  return cluster.device == "cpu";
}

}  // namespace

/// Loads added up by link.
class LinkMap::Sum {
 public:
  explicit Sum(const LinkMap& map) : map_(map) {}

  void add(LinkKind kind, int place, double weight) { loads_[map_.link(kind, place)] += weight; }
  std::vector<LinkLoad> loads() const {
    std::vector<LinkLoad> result;
    for (const auto& [link, weight] : loads_) {
      if (weight > 0) result.push_back({.link = link, .weight = weight});
    }
    return result;
  }

 private:
  const LinkMap& map_;
  std::map<std::uint32_t, double> loads_;
};

LinkMap::LinkMap(const Cluster& cluster, const LinkSpeeds& speeds)
    : cluster_(cluster),
      speeds_(speeds),
      uplinks_(cluster.network && cluster.network->oversubscription > 1) {}

std::uint32_t LinkMap::links() const {
  return static_cast<std::uint32_t>(cluster_.devices()) * kKinds;
}

double LinkMap::capacity(std::uint32_t link) const {
  return speed_of(kind_of(link), cluster_, speeds_);
}

// A row of kinds per place; those of nodes are used in the first rows only.
std::uint32_t LinkMap::link(LinkKind kind, int place) const {
  return static_cast<std::uint32_t>(place) * kKinds + static_cast<std::uint32_t>(kind);
}

LinkKind LinkMap::kind_of(std::uint32_t link) const {
  return static_cast<LinkKind>(link % kKinds);
}

int LinkMap::place_of(std::uint32_t link) const {
  return static_cast<int>(link / kKinds);
}

std::string LinkMap::name_of(std::uint32_t link) const {
  const KindRow& row = kRows[link % kKinds];
  return (row.of_device ? "rank " : "node ") + std::to_string(place_of(link)) + " " + row.name;
}

std::vector<LinkMap::Island> LinkMap::islands_of(const std::vector<int>& members) const {
  std::vector<Island> islands;
  int last = -1;
  for (const int rank : members) {
    const int domain = on_cpu(cluster_) ? node_of(cluster_, rank) : domain_of(cluster_, rank);
    if (domain != last) islands.emplace_back();
    last = domain;
    islands.back().members.push_back(rank);
    islands.back().nodes.push_back(node_of(cluster_, rank));
  }
  return islands;
}

/// Among members that reach each other without a NIC.
void LinkMap::add_inside(Sum& sum, const std::vector<int>& members, double weight) const {
  const bool one_domain =
      domain_of(cluster_, members.front()) == domain_of(cluster_, members.back());
  for (const int rank : members) {
    if (on_cpu(cluster_)) {
      sum.add(LinkKind::host, node_of(cluster_, rank), weight);
      continue;
    }
    sum.add(one_domain ? LinkKind::nvlink_out : LinkKind::pcie_out, rank, weight);
    sum.add(one_domain ? LinkKind::nvlink_in : LinkKind::pcie_in, rank, weight);
  }
}

bool LinkMap::climbs(int rank, int other) const {
  return uplinks_ && !share_leaf(cluster_, rank, other);
}

std::vector<LinkLoad> LinkMap::of_group(CommKind kind, const std::vector<int>& members) const {
  CHECK(kind != CommKind::send_recv, "a transfer has two ends, not a group");
  Sum sum(*this);
  if (members.size() < 2) return {};
  const std::vector<Island> islands = islands_of(members);
  const bool one_node = node_of(cluster_, members.front()) == node_of(cluster_, members.back());
  if (islands.size() == 1 || one_node) {
    add_inside(sum, members, 1.0);
    return sum.loads();
  }
  const double n = static_cast<double>(members.size());
  const bool all_to_all = kind == CommKind::all_to_all;
  const bool climbing = climbs(members.front(), members.back());
  for (const Island& island : islands) {
    const double k = static_cast<double>(island.members.size());
    if (k > 1) add_inside(sum, island.members, all_to_all ? (k - 1) / (n - 1) : (k - 1) / k);
    const double leaving = all_to_all ? k * (n - k) / (n - 1) : 1.0;
    // By members per node: of a ring every member is as often the one that leaves the island.
    for (const int node : island.nodes) {
      sum.add(LinkKind::nic_out, node, leaving / k);
      sum.add(LinkKind::nic_in, node, leaving / k);
      if (!climbing) continue;
      sum.add(LinkKind::uplink_out, node, leaving / k);
      sum.add(LinkKind::uplink_in, node, leaving / k);
    }
  }
  return sum.loads();
}

std::vector<LinkLoad> LinkMap::of_transfer(int from, int to) const {
  Sum sum(*this);
  if (from == to) return {};
  const int source = node_of(cluster_, from), destination = node_of(cluster_, to);
  if (on_cpu(cluster_) && source == destination) {
    sum.add(LinkKind::host, source, 1.0);
  } else if (domain_of(cluster_, from) == domain_of(cluster_, to) && !on_cpu(cluster_)) {
    sum.add(LinkKind::nvlink_out, from, 1.0);
    sum.add(LinkKind::nvlink_in, to, 1.0);
  } else if (source == destination) {
    sum.add(LinkKind::pcie_out, from, 1.0);
    sum.add(LinkKind::pcie_in, to, 1.0);
  } else {
    sum.add(LinkKind::nic_out, source, 1.0);
    sum.add(LinkKind::nic_in, destination, 1.0);
    if (climbs(from, to)) {
      sum.add(LinkKind::uplink_out, source, 1.0);
      sum.add(LinkKind::uplink_in, destination, 1.0);
    }
  }
  return sum.loads();
}

std::vector<LinkLoad> loads_of_group(const LinkMap& map, const Mesh& mesh, const Comm& comm,
                                     CommKind kind, int rank) {
  return map.of_group(kind, members(mesh, comm, rank));
}

}  // namespace windtunnel
