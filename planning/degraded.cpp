#include "planning/degraded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "program/op_runs.h"
#include "sim/network/placement.h"

namespace windtunnel {

namespace {

/// Consecutive ranks [first, end).
struct RankRange {
  int first = 0, end = 0;
};

/// The ranks of a node, or one.
RankRange slow_devices(const Cluster& cluster, const Degraded& entry) {
  if (entry.rank) return {*entry.rank, *entry.rank + 1};
  const int first = *entry.node * cluster.devices_per_node;
  return {first, first + cluster.devices_per_node};
}

/// The ranks that leave their node by a slow adapter: all of a node, or those whose nearest one is
/// that of the rank (adapters stand in the order of the devices).
RankRange behind_slow_adapters(const Cluster& cluster, const Degraded& entry) {
  if (!entry.rank) return slow_devices(cluster, entry);
  const int devices = cluster.devices_per_node, nics = cluster.network->nics_per_node;
  const int node_first = *entry.rank / devices * devices;
  const auto nic_of = [&](int rank) {
    return std::int64_t{rank - node_first} * std::min(nics, devices) / devices;
  };
  RankRange range{*entry.rank, *entry.rank + 1};
  while (range.first > node_first && nic_of(range.first - 1) == nic_of(*entry.rank)) --range.first;
  while (range.end < node_first + devices && nic_of(range.end) == nic_of(*entry.rank)) ++range.end;
  return range;
}

bool leaves_node(const Placement& p) {
  return p.nodes > 1 && p.domains > 1;
}

/// What slow adapters do to the transfers of one rank.
class SlowAdapters {
 public:
  SlowAdapters(PricedProgram& priced, const Program& program, const Cluster& cluster,
               const CostModel* model)
      : costs_(priced.costs),
        program_(program),
        cluster_(cluster),
        model_(model),
        grid_(dense_grid(program.mesh)) {
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
      for (const Segment* s : segments_of(program, program.roles[role])) {
        for (std::uint32_t i = s->op_begin; i < s->op_end; ++i) {
          const OpKind kind = program.ops[i].kind;
          if (kind == OpKind::collective || kind == OpKind::send)
            transfers_.push_back({static_cast<int>(role), i});
        }
      }
    }
  }

  void slow(int rank, BytesPerSecond bandwidth) {
    std::map<std::uint32_t, std::vector<double>> by_comm;
    std::map<std::tuple<std::uint32_t, int, int, std::int64_t>, double> known;
    for (const auto& [role, index] : transfers_) {
      const Op& op = program_.ops[index];
      const bool send = op.kind == OpKind::send;
      const auto [place, added] =
          known.try_emplace({op.comm, send ? -1 - role : static_cast<int>(op.collective),
                             send ? op.peer : 0, bytes_of(op.dtype, op.elements)},
                            1.0);
      if (added) place->second = factor({role, op, rank}, bandwidth);
      if (place->second <= 1.0) continue;
      std::vector<double>& factors = by_comm[op.comm];
      factors.resize(program_.ops.size(), 1.0);
      factors[index] = place->second;
    }
    for (auto& [comm, factors] : by_comm) {
      costs_.slow_links.push_back(
          {.rank = rank, .comm = comm, .by_op = stored(std::move(factors))});
    }
  }

 private:
  struct Use {
    int role;
    const Op& op;
    int rank;
  };

  /// Where the op puts the rank's group; nullopt: the rank has no part in it.
  std::optional<Placement> placement(const Use& use) const {
    const Coordinates at = coordinates_of(grid_, use.rank);
    if (use.op.kind != OpKind::send)
      return place_group(cluster_, program_.mesh, program_.comms[use.op.comm], use.rank);
    if (at.pp != use.role && at.pp != use.op.peer) return std::nullopt;
    Coordinates source = at;
    source.pp = use.role;
    return place_pipeline_hop(cluster_, program_.mesh, rank_of(grid_, source), use.op.peer);
  }

  double factor(const Use& use, BytesPerSecond bandwidth) const {
    std::optional<Placement> place = placement(use);
    if (!place || !leaves_node(*place)) return 1.0;
    // One number (gradient norm, loss) costs unit's `else`: no payload.
    if (model_ == nullptr) {
      return use.op.kind == OpKind::collective && use.op.elements <= 1
                 ? 1.0
                 : place->nic_bandwidth / bandwidth;
    }
    CollectiveQuery query{
        .kind = use.op.kind == OpKind::send ? CommKind::send_recv : comm_kind(use.op.collective),
        .bytes = bytes_of(use.op.dtype, use.op.elements),
        .placement = *place};
    const Seconds sound = model_->collective(query).time;
    query.placement.nic_bandwidth = bandwidth;
    const Seconds slow = model_->collective(query).time;
    return sound.value > 0 ? std::max(1.0, slow / sound) : 1.0;
  }

  std::uint32_t stored(std::vector<double> factors) {
    const auto at = std::find(costs_.link_factors.begin(), costs_.link_factors.end(), factors);
    const auto index = static_cast<std::uint32_t>(at - costs_.link_factors.begin());
    if (at == costs_.link_factors.end()) costs_.link_factors.push_back(std::move(factors));
    return index;
  }

  StepCosts& costs_;
  const Program& program_;
  const Cluster& cluster_;
  const CostModel* model_;
  Grid grid_;
  std::vector<std::pair<int, std::uint32_t>> transfers_;  // role, op
};

}  // namespace

std::vector<SlowRank> slow_ranks(const Cluster& cluster) {
  std::map<int, double> slowdown;  // by rank
  for (const Degraded& entry : cluster.degraded) {
    if (!entry.slowdown || *entry.slowdown <= 1.0) continue;
    const RankRange range = slow_devices(cluster, entry);
    for (int rank = range.first; rank < range.end; ++rank) {
      double& factor = slowdown.try_emplace(rank, 1.0).first->second;
      factor = std::max(factor, *entry.slowdown);
    }
  }
  std::vector<SlowRank> slow;
  for (const auto& [rank, factor] : slowdown) slow.push_back({.rank = rank, .factor = factor});
  return slow;
}

void degrade(PricedProgram& priced, const Program& program, const Cluster& cluster,
             const CostModel* model) {
  priced.costs.slow_ranks = slow_ranks(cluster);
  std::map<int, BytesPerSecond> bandwidth;  // by rank: the least
  for (const Degraded& entry : cluster.degraded) {
    if (!entry.nic_bandwidth) continue;
    const RankRange range = behind_slow_adapters(cluster, entry);
    for (int rank = range.first; rank < range.end; ++rank) {
      BytesPerSecond& least = bandwidth.try_emplace(rank, *entry.nic_bandwidth).first->second;
      least = std::min(least, *entry.nic_bandwidth);
    }
  }
  if (bandwidth.empty()) return;
  SlowAdapters adapters(priced, program, cluster, model);
  for (const auto& [rank, least] : bandwidth) adapters.slow(rank, least);
}

std::vector<std::string> degraded_lines(const Cluster& cluster) {
  std::vector<std::string> lines;
  for (const Degraded& entry : cluster.degraded) {
    const std::string part = entry.rank ? fmt::format("rank {}", *entry.rank)
                                        : fmt::format("every rank of node {}", *entry.node);
    if (entry.slowdown)
      lines.push_back(fmt::format("{} computes {:.4g} times as long", part, *entry.slowdown));
    if (!entry.nic_bandwidth) continue;
    constexpr double kGigabits = 8e-9;
    lines.push_back(fmt::format("{} reaches other nodes at {:.4g} of {:.4g} Gbit/s an adapter",
                                part, entry.nic_bandwidth->value * kGigabits,
                                cluster.network->nic_bandwidth.value * kGigabits));
  }
  return lines;
}

}  // namespace windtunnel
