#include "models/cost/link_shares.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

constexpr double kAbsentEfficiency = 0.9;   // a network the profile says nothing of
constexpr double kIncludedLatencyUs = 2.0;  // wire latency inside NCCL's 14 us hop (InfiniBand)

double node_bandwidth(const Placement& p) {
  return p.nic_bandwidth.value * p.nics_per_node / p.groups_sharing_nics;
}

/// Rate of the NICs beside one device: one, or several where a node has more NICs than devices.
double device_bandwidth(const Placement& p) {
  return p.nic_bandwidth.value *
         std::max(1.0, static_cast<double>(p.nics_per_node) / p.devices_per_node);
}

/// The row of NCCL's tables: it goes by compute capability, so that Ada (8.9) has Ampere's. AMD's
/// library has tables of its own, which are not built: its curves correct the nearest row.
GpuGeneration generation_of(const Profile& profile) {
  const std::string& name = profile.chip.generation;
  if (name == "volta") return GpuGeneration::volta;
  if (name == "hopper") return GpuGeneration::hopper;
  if (name == "blackwell") return GpuGeneration::blackwell;
  return GpuGeneration::ampere;
}

}  // namespace

double network_efficiency(const Profile& profile, NetworkType network) {
  const auto at = profile.links.network_efficiency.find(network);
  return at == profile.links.network_efficiency.end() ? kAbsentEfficiency : at->second.value;
}

Reach reach_of(const Placement& p) {
  if (p.domains <= 1) return Reach::nvlink;
  return p.nodes <= 1 ? Reach::pcie : Reach::network;
}

BytesPerSecond group_network_bandwidth(const Profile& profile, const Placement& p) {
  CHECK(p.nics_per_node > 0 && p.nic_bandwidth.value > 0.0, "a group over nodes has a network");
  const double per_node = std::min(node_bandwidth(p), device_bandwidth(p) * p.per_node) *
                          network_efficiency(profile, p.network) / p.oversubscription;
  return {per_node * p.nodes / p.domains};
}

BytesPerSecond pair_network_bandwidth(const Profile& profile, const Placement& p) {
  CHECK(p.nics_per_node > 0 && p.nic_bandwidth.value > 0.0, "a group over nodes has a network");
  return {std::min(device_bandwidth(p), node_bandwidth(p)) *
          network_efficiency(profile, p.network) / p.oversubscription};
}

double extra_network_us(const Placement& p) {
  return std::max(0.0, p.network_latency.value * 1e6 - kIncludedLatencyUs);
}

NcclLinks nccl_links(const Profile& profile, const Placement& p) {
  const Reach reach = reach_of(p);
  NcclLinks links{.generation = generation_of(profile), .channels = profile.links.channels.value};
  // A node whose devices are in several domains is one island over PCIe.
  links.nvlink = reach != Reach::pcie;
  links.intra_gbps =
      (links.nvlink ? profile.links.nvlink_bandwidth : profile.links.pcie_bandwidth).value / 1e9;
  links.nvls_gbps = links.nvlink ? profile.links.nvls_bandwidth.value / 1e9 : 0.0;
  if (reach == Reach::network) {
    links.inter_gbps = group_network_bandwidth(profile, p).value / 1e9;
    links.extra_net_us = extra_network_us(p);
  }
  return links;
}

NcclGroup nccl_group(const CollectiveQuery& query) {
  const Placement& p = query.placement;
  NcclGroup group{.kind = query.kind,
                  .bytes = static_cast<double>(query.bytes),
                  .ranks = p.ranks,
                  .islands = 1,
                  .per_island = p.ranks};
  if (reach_of(p) == Reach::network) {
    group.islands = p.domains;
    group.per_island = p.per_domain;
  }
  return group;
}

}  // namespace windtunnel
