#include <fmt/format.h>

#include "scenarios/rules/rules.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

/// Several nodes talk over a network, unless one NVLink domain holds them all or the device has no
/// network of its own (`unit` costs what it says, `cpu` ranks share a machine).
void check_network(const Scenario& s, std::vector<Diagnostic>& problems) {
  const Cluster& cluster = s.cluster;
  const bool one_domain = cluster.nvlink_domain >= cluster.devices();
  const bool no_network = cluster.device == "unit" || cluster.device == "cpu";
  if (cluster.nodes == 1 || cluster.network || one_domain || no_network) return;
  problems.push_back(diagnostic_at(
      s, "cluster", fmt::format("{} nodes need a network", cluster.nodes),
      "for example network: {nics_per_node: 8, nic_bandwidth: 200 Gbit/s, kind: ib}"));
}

void check_unit(const Scenario& s, std::vector<Diagnostic>& problems) {
  const bool is_unit = s.cluster.device == "unit";
  if (is_unit && !s.cluster.unit) {
    problems.push_back(
        diagnostic_at(s, "cluster.device", "device unit needs `unit`: what ops cost",
                      "for example unit: {layer: {F: \"1 s\", B: \"2 s\"}, hop: \"0 s\"}"));
  } else if (!is_unit && s.cluster.unit) {
    problems.push_back(diagnostic_at(
        s, "cluster.unit", fmt::format("`unit` belongs to device unit, not {}", s.cluster.device),
        "device: unit"));
  }
}

/// A number that must be below a count: node 8 of 8 does not exist.
struct Index {
  std::string key;
  const char* noun;
  std::int64_t value, count;
};

void check_index(const Scenario& s, const Index& index, std::vector<Diagnostic>& problems) {
  if (index.value < index.count) return;
  problems.push_back(diagnostic_at(s, index.key,
                                   fmt::format("there is no {} {}", index.noun, index.value),
                                   fmt::format("the cluster has {}, counted from 0", index.count)));
}

/// A factor's range is that of the simulator's fixed-point products.
void check_stage_scale(const Scenario& s, std::vector<Diagnostic>& problems) {
  constexpr double kLeastScale = 0.001, kMostScale = 1000;
  if (!s.cluster.unit) return;
  for (const auto& [stage, scale] : s.cluster.unit->stage_scale) {
    const std::string key = fmt::format("cluster.unit.stage_scale.{}", stage);
    if (stage >= s.plan.pp) {
      problems.push_back(diagnostic_at(s, key, fmt::format("there is no pipeline stage {}", stage),
                                       fmt::format("the plan has {}, counted from 0", s.plan.pp)));
    } else if (scale < kLeastScale || scale > kMostScale) {
      problems.push_back(diagnostic_at(s, key,
                                       fmt::format("a stage's factor of {} is out of range", scale),
                                       fmt::format("from {} to {}", kLeastScale, kMostScale)));
    }
  }
}

/// Ranges are those of the simulator's fixed-point products.
void check_degraded(const Scenario& s, std::vector<Diagnostic>& problems) {
  constexpr double kMostSlowdown = 1000;
  const Cluster& cluster = s.cluster;
  for (std::size_t i = 0; i < cluster.degraded.size(); ++i) {
    const Degraded& entry = cluster.degraded[i];
    const std::string key = fmt::format("cluster.degraded.{}", i);
    if (entry.node) check_index(s, {key + ".node", "node", *entry.node, cluster.nodes}, problems);
    if (entry.rank)
      check_index(s, {key + ".rank", "rank", *entry.rank, cluster.devices()}, problems);
    const auto refuse = [&](const char* part, std::string message, std::string hint) {
      problems.push_back(diagnostic_at(s, key + part, std::move(message), std::move(hint)));
    };
    if (entry.slowdown > kMostSlowdown) {
      refuse(".slowdown", fmt::format("a slowdown of {} is out of range", *entry.slowdown),
             fmt::format("from 1 to {}", kMostSlowdown));
    }
    if (!entry.nic_bandwidth) continue;
    if (!cluster.network) {
      refuse(".nic_bandwidth", "a slow network adapter needs a network", "network: in cluster");
      continue;
    }
    const double share = entry.nic_bandwidth->value / cluster.network->nic_bandwidth.value;
    if (share > 1 || share * kMostSlowdown < 1) {
      refuse(".nic_bandwidth",
             fmt::format("a degraded adapter has from 1/{} of the network's bandwidth to all of it",
                         kMostSlowdown),
             fmt::format("nic_bandwidth of the network is {:.6g} Gbit/s",
                         cluster.network->nic_bandwidth.value * 8e-9));
    }
  }
}

}  // namespace

std::vector<Diagnostic> check_cluster(const Scenario& s) {
  std::vector<Diagnostic> problems;
  const std::int64_t devices = s.cluster.devices();
  check_network(s, problems);
  check_unit(s, problems);
  check_stage_scale(s, problems);
  check_degraded(s, problems);
  if (s.measured && s.measured->peak_rank) {
    check_index(s, {"measured.peak_rank", "rank", *s.measured->peak_rank, devices}, problems);
  }
  return problems;
}

}  // namespace windtunnel
