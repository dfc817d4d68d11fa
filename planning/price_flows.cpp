#include "planning/price_flows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/cost/collective_algebra.h"
#include "program/mesh.h"
#include "program/op_runs.h"
#include "sim/engine/lane_grid.h"
#include "sim/network/placement.h"

namespace windtunnel {

namespace {

/// The price of a message of no size is its latency.
constexpr std::int64_t kSmallestMessage = 1;
/// Prices that fill a link together may exceed it by rounding.
constexpr double kRounding = 1e-9;

bool of_network(LinkKind kind) {
  return kind == LinkKind::host || kind == LinkKind::nic_out || kind == LinkKind::nic_in ||
         kind == LinkKind::uplink_out || kind == LinkKind::uplink_in;
}

using Loads = std::map<std::uint32_t, double>;

void add(Loads& sum, const Loads& loads) {
  for (const auto& [link, weight] : loads) sum[link] += weight;
}

/// Gradient norm, loss: latency alone.
bool is_one_number(const Op& op) {
  return op.elements <= 1;
}

/// An op's flow on its way to be one.
struct Candidate {
  std::size_t role = 0;
  std::uint32_t op = 0;
  double rate = 0.0;  // own, bytes per second
};

class FlowPricer {
 public:
  explicit FlowPricer(const FlowQuestion& question)
      : q_(question),
        map_(question.cluster, question.speeds),
        grid_(dense_grid(question.program.mesh)),
        lanes_(unfolded_grid(question.program.mesh, 1)) {
    for (std::size_t role = 0; role < q_.program.roles.size(); ++role) {
      tracked_.insert(node_of(q_.cluster, rank_of(grid_, {.pp = static_cast<int>(role)})));
    }
  }

  LinkFlows run() {
    for (std::size_t role = 0; role < q_.program.roles.size(); ++role) {
      flows_.of_role.emplace_back(q_.program.ops.size());
      for (const Segment* segment : segments_of(q_.program, q_.program.roles[role])) {
        for (std::uint32_t op = segment->op_begin; op < segment->op_end; ++op) consider(role, op);
      }
    }
    keep_shared_links();
    return candidates_.empty() ? LinkFlows{} : std::move(flows_);
  }

 private:
  struct Geometry {
    Loads folded;
    std::vector<Loads> by_lane;
  };
  using Where = std::tuple<std::size_t, std::uint32_t, int, int>;  // role, comm, kind, peer

  void consider(std::size_t role, std::uint32_t index) {
    const Op& op = q_.program.ops[index];
    const bool send = op.kind == OpKind::send;
    if (!send && op.kind != OpKind::collective) return;
    if (is_one_number(op)) return;
    const int kind = send ? -1 : static_cast<int>(op.collective);
    const auto [place, added] = geometries_.try_emplace(Where(role, op.comm, kind, op.peer));
    if (added) place->second = geometry(role, op);
    if (place->second.folded.empty()) return;
    CollectiveQuery query = transfer_query(q_.program, q_.cluster, op, static_cast<int>(role));
    const double alone = q_.priced.items[q_.priced.item_of_op[index]].cost.time.value;
    const auto work =
        static_cast<double>(wire_bytes(query.kind, query.placement.ranks, query.bytes));
    query.bytes = kSmallestMessage;
    const double latency = std::min(alone, q_.model.collective(query).time.value);
    if (work <= 0 || latency >= alone) return;
    const double rate = work / (alone - latency);
    const auto [pattern, is_new] = patterns_.try_emplace(
        {place->first, rate}, static_cast<std::uint32_t>(flows_.patterns.size()));
    if (is_new) flows_.patterns.push_back(fitted(place->second, rate));
    flows_.of_role[role][index] = {
        .pattern = pattern->second, .work = work, .latency = to_picoseconds({latency})};
    candidates_.push_back({.role = role, .op = index, .rate = rate});
  }

  /// Loads of one group on the network.
  Loads network_loads(const std::vector<LinkLoad>& loads) const {
    Loads result;
    for (const LinkLoad& load : loads) {
      if (of_network(map_.kind_of(load.link))) result[load.link] += load.weight;
    }
    return result;
  }

  Loads loads_of(const Op& op, int rank) const {
    if (op.kind == OpKind::send) {
      Coordinates to = coordinates_of(grid_, rank);
      to.pp = op.peer;
      return network_loads(map_.of_transfer(rank, rank_of(grid_, to)));
    }
    const Comm& comm = q_.program.comms[op.comm];
    return network_loads(
        loads_of_group(map_, q_.program.mesh, comm, comm_kind(op.collective), rank));
  }

  Geometry geometry(std::size_t role, const Op& op) const {
    Geometry result;
    if (q_.ranks == Ranks::folded) {
      result.folded = tracked_loads(role, op);
      return result;
    }
    const std::vector<int> leads_of = group_leads(lanes_, q_.program.comms[op.comm]);
    for (int lane = 0; lane < lanes_.lanes(); ++lane) {
      const Coordinates at = lanes_.coordinates_of(lane, static_cast<int>(role));
      const bool leads =
          op.kind == OpKind::send || leads_of[static_cast<std::size_t>(lane)] == lane;
      result.by_lane.push_back(leads ? loads_of(op, rank_of(grid_, at)) : Loads{});
      add(result.folded, result.by_lane.back());
    }
    return result;
  }

  /// All groups of the role on the tracked nodes.
  Loads tracked_loads(std::size_t role, const Op& op) const {
    const bool send = op.kind == OpKind::send;
    std::set<int> leads;  // a rank of each group
    for (const int node : tracked_) {
      const int first = node * q_.cluster.devices_per_node;
      const int last = std::min(first + q_.cluster.devices_per_node, grid_.ranks());
      for (int rank = first; rank < last; ++rank) {
        Coordinates at = coordinates_of(grid_, rank);
        if (send && (at.pp == static_cast<int>(role) || at.pp == op.peer)) {
          at.pp = static_cast<int>(role);
          leads.insert(rank_of(grid_, at));
        } else if (!send && at.pp == static_cast<int>(role)) {
          const std::vector<int> group = members(q_.program.mesh, q_.program.comms[op.comm], rank);
          if (!group.empty()) leads.insert(group.front());
        }
      }
    }
    Loads sum;
    for (const int rank : leads) {
      for (const auto& [link, weight] : loads_of(op, rank)) {
        if (tracked_.contains(map_.place_of(link))) sum[link] += weight;
      }
    }
    return sum;
  }

  /// Weights by which the flow fits its links alone.
  LinkFlows::Pattern fitted(const Geometry& geometry, double rate) {
    const auto fit = [&](const Loads& loads) {
      std::vector<LinkLoad> result;
      for (const auto& [link, weight] : loads) {
        const double most = map_.capacity(link) / (rate * geometry.folded.at(link));
        result.push_back({.link = link, .weight = weight * std::min(1.0, most)});
      }
      return result;
    };
    LinkFlows::Pattern pattern{.folded = fit(geometry.folded), .by_lane = {}};
    for (const Loads& loads : geometry.by_lane) pattern.by_lane.push_back(fit(loads));
    return pattern;
  }

  /// Links that could be over full by transfers of different communicators at once: different
  /// streams too, since one stream's transfers follow each other.
  std::map<std::uint32_t, std::uint32_t> shared_links() const {
    struct Use {
      std::map<std::pair<std::size_t, std::uint32_t>, double> most;  // role, comm
      std::set<std::uint32_t> comms;
      std::set<std::pair<std::size_t, Stream>> streams;
    };
    std::map<std::uint32_t, Use> uses;
    for (const Candidate& c : candidates_) {
      const Op& op = q_.program.ops[c.op];
      for (const LinkLoad& load : flows_.patterns[flows_.of_role[c.role][c.op].pattern].folded) {
        Use& use = uses[load.link];
        double& most = use.most[{c.role, op.comm}];
        most = std::max(most, c.rate * load.weight);
        use.comms.insert(op.comm);
        use.streams.insert({c.role, op.stream});
      }
    }
    std::map<std::uint32_t, std::uint32_t> shared;  // link, its new number
    for (const auto& [link, use] : uses) {
      double demand = 0;
      for (const auto& [user, most] : use.most) demand += most;
      const bool fills = demand > map_.capacity(link) * (1 + kRounding);
      if (use.comms.size() > 1 && use.streams.size() > 1 && fills) {
        shared.emplace(link, static_cast<std::uint32_t>(shared.size()));
      }
    }
    return shared;
  }

  void keep_shared_links() {
    const std::map<std::uint32_t, std::uint32_t> shared = shared_links();
    for (const auto& [link, number] : shared) flows_.capacity.push_back(map_.capacity(link));
    const auto keep = [&](std::vector<LinkLoad>& loads) {
      std::erase_if(loads, [&](const LinkLoad& load) { return !shared.contains(load.link); });
      for (LinkLoad& load : loads) load.link = shared.at(load.link);
    };
    for (LinkFlows::Pattern& pattern : flows_.patterns) {
      keep(pattern.folded);
      for (std::vector<LinkLoad>& loads : pattern.by_lane) keep(loads);
    }
    std::erase_if(candidates_, [&](const Candidate& c) {
      LinkFlows::OpFlow& flow = flows_.of_role[c.role][c.op];
      const bool alone = flows_.patterns[flow.pattern].folded.empty();
      if (alone) flow = {};
      return alone;
    });
  }

  const FlowQuestion& q_;
  LinkMap map_;
  Grid grid_;
  LaneGrid lanes_;
  std::set<int> tracked_;  // nodes
  std::map<Where, Geometry> geometries_;
  std::map<std::pair<Where, double>, std::uint32_t> patterns_;
  std::vector<Candidate> candidates_;
  LinkFlows flows_;
};

}  // namespace

bool passes_wait_for_network(const Program& program, const Cluster& cluster) {
  std::set<std::pair<std::size_t, std::uint32_t>> asked;  // role, comm
  for (std::size_t role = 0; role < program.roles.size(); ++role) {
    for (const Segment* segment : segments_of(program, program.roles[role])) {
      for (std::uint32_t i = segment->op_begin; i < segment->op_end; ++i) {
        const Op& op = program.ops[i];
        if (op.kind != OpKind::collective || op.stream != Stream::compute) continue;
        if (op.phase != Phase::forward && op.phase != Phase::backward) continue;
        if (is_one_number(op) || !asked.insert({role, op.comm}).second) continue;
        const Placement p = transfer_query(program, cluster, op, static_cast<int>(role)).placement;
        if (p.nodes > 1 && p.domains > 1) return true;
      }
    }
  }
  return false;
}

LinkFlows price_flows(const FlowQuestion& question) {
  return FlowPricer(question).run();
}

}  // namespace windtunnel
