#include "sim/network/placement.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

struct Spread {
  int parts = 0, most = 0;
};

/// Parts that a sorted group spans and the most members in one of them.
template <class PartOf>
Spread spread(const std::vector<int>& members, PartOf part_of) {
  Spread result;
  int current = -1, count = 0;
  for (const int rank : members) {
    const int part = part_of(rank);
    if (part != current) {
      ++result.parts;
      current = part;
      count = 0;
    }
    result.most = std::max(result.most, ++count);
  }
  return result;
}

/// Groups, that have a member on the node of `rank` and reach
/// another NVLink domain. `group_of` gives a rank's group, empty when it has none.
template <class GroupOf>
int groups_on_node(const Cluster& cluster, int ranks, int rank, GroupOf group_of) {
  const int node = node_of(cluster, rank);
  const int first = node * cluster.devices_per_node;
  const int last = std::min(ranks, first + cluster.devices_per_node);
  std::vector<std::vector<int>> groups;
  for (int r = first; r < last; ++r) {
    const auto holds = [r](const std::vector<int>& g) {
      return std::binary_search(g.begin(), g.end(), r);
    };
    if (std::any_of(groups.begin(), groups.end(), holds)) continue;
    std::vector<int> members = group_of(r);
    if (members.size() < 2) continue;
    if (domain_of(cluster, members.front()) == domain_of(cluster, members.back())) continue;
    if (node_of(cluster, members.front()) == node_of(cluster, members.back())) continue;
    groups.push_back(std::move(members));
  }
  return std::max<int>(1, static_cast<int>(groups.size()));
}

}  // namespace

int domain_of(const Cluster& cluster, int rank) {
  return rank / std::max(1, cluster.nvlink_domain);
}

int node_of(const Cluster& cluster, int rank) {
  return rank / std::max(1, cluster.devices_per_node);
}

bool share_leaf(const Cluster& cluster, int rank, int other) {
  const int nodes = cluster.network ? cluster.network->nodes_per_leaf : 0;
  return nodes > 0 && node_of(cluster, rank) / nodes == node_of(cluster, other) / nodes;
}

NetworkType network_type(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::ib:
      return NetworkType::ib;
    case NetworkKind::roce:
      return NetworkType::roce;
    case NetworkKind::efa:
      return NetworkType::efa;
    case NetworkKind::tcp:
      return NetworkType::tcp;
  }
  CHECK(false, "network kind out of range");
  return NetworkType::none;
}

Placement place_members(const Cluster& cluster, const std::vector<int>& members) {
  const Spread nodes = spread(members, [&](int r) { return node_of(cluster, r); });
  const Spread domains = spread(members, [&](int r) { return domain_of(cluster, r); });
  Placement p{.ranks = static_cast<int>(members.size()),
              .nodes = nodes.parts,
              .per_node = nodes.most,
              .domains = domains.parts,
              .per_domain = domains.most,
              .devices_per_node = cluster.devices_per_node};
  if (cluster.network) {
    p.nics_per_node = cluster.network->nics_per_node;
    p.nic_bandwidth = cluster.network->nic_bandwidth;
    const bool one_leaf = share_leaf(cluster, members.front(), members.back());
    p.oversubscription = one_leaf ? 1.0 : cluster.network->oversubscription;
    p.network_latency = cluster.network->latency.value_or(Seconds{});
    p.network = network_type(cluster.network->kind);
  }
  return p;
}

Placement place_group(const Cluster& cluster, const Mesh& mesh, const Comm& comm, int rank) {
  const std::vector<int> group = members(mesh, comm, rank);
  if (group.empty()) return place_members(cluster, {rank});
  Placement p = place_members(cluster, group);
  if (p.nodes > 1 && p.domains > 1) {
    p.groups_sharing_nics = groups_on_node(cluster, static_cast<int>(mesh.ranks()), rank,
                                           [&](int r) { return members(mesh, comm, r); });
  }
  return p;
}

Placement place_pipeline_hop(const Cluster& cluster, const Mesh& mesh, int rank) {
  return place_pipeline_hop(cluster, mesh, rank, coordinates_of(dense_grid(mesh), rank).pp + 1);
}

Placement place_pipeline_hop(const Cluster& cluster, const Mesh& mesh, int rank, int to_stage) {
  const Grid grid = dense_grid(mesh);
  const int from_stage = coordinates_of(grid, rank).pp;
  const auto pair_of = [&](int r) -> std::vector<int> {
    Coordinates c = coordinates_of(grid, r);
    if (c.pp != from_stage) return {};
    c.pp = to_stage;
    const int peer = rank_of(grid, c);
    return {std::min(r, peer), std::max(r, peer)};
  };
  Placement p = place_members(cluster, pair_of(rank));
  if (p.nodes > 1 && p.domains > 1) {
    p.groups_sharing_nics = groups_on_node(cluster, static_cast<int>(mesh.ranks()), rank, pair_of);
  }
  return p;
}

}  // namespace windtunnel
