#pragma once
// The links of a cluster, and what a group's collective or a transfer puts on each of them.
//
//   device --NVLink or PCIe--> its domain or node --NICs of the node--> uplink of the node
//
// Work is counted in wire bytes, the bytes each member sends (collective_algebra.h): with S the
// full tensor and n members 2(n-1)/n S of an all_reduce, (n-1)/n S of all_gather, reduce_scatter
// and all_to_all, S of broadcast and of a transfer. A load is bytes on the link per byte of work,
// in each direction:
//
//   ring in one NVLink domain     1 on the NVLink of each member
//   ring over nodes               1 on the NICs of the node of each island (a domain's members; k
//   of
//                                 them in the domain: (k-1)/k on the NVLink of each). An island
//                                 over m nodes puts 1/m on each: its channels leave by all of them.
//   all_to_all over nodes         of each island k (n-k)/(n-1) on NICs, by members per node;
//                                 (k-1)/(n-1) on the NVLink of each member
//   several domains of one node   1 on the PCIe of each member
//   transfer                      1 on what the sender leaves by and the receiver gets it by
//   device `cpu`                  within a node: 1 per member on the memory of the host
//
// So an all_reduce of S over n nodes puts 2(n-1)/n S through each member's NICs in each direction,
// and groups beside each other on a node add up there. Sources: NVIDIA nccl-tests
// doc/PERFORMANCE.md @a0b82b2 (wire bytes); link_shares.h (NICs of a node work as one).
//
// A node's NICs are one link out and one in. With oversubscription o > 1 what leaves its leaf (all
// of it, where the cluster states no nodes_per_leaf) also crosses an uplink of 1/o of that rate:
// every node is taken to have its even part of its leaf's uplink.

#include <cstdint>
#include <string>
#include <vector>

#include "models/cost/cost_model.h"
#include "program/mesh.h"
#include "scenarios/scenario.h"
#include "sim/network/fair_share.h"

namespace windtunnel {

enum class LinkKind : std::uint8_t {
  nvlink_out,  // of a device
  nvlink_in,
  pcie_out,  // of a device
  pcie_in,
  host,     // of a node: memory that its ranks copy through
  nic_out,  // of a node: all its NICs
  nic_in,
  uplink_out,  // of a node
  uplink_in,
  count
};

/// What the devices' side of the cluster carries, one direction, bytes per second; 0 where there is
/// none. From a profile.
struct LinkSpeeds {
  double nvlink = 0.0;     // of a device
  double pcie = 0.0;       // of a device
  double host = 0.0;       // of a node of device `cpu`
  double nic_share = 1.0;  // part of the NICs' rate by data sheet that is reached
};

class LinkMap {
 public:
  LinkMap(const Cluster& cluster, const LinkSpeeds& speeds);

  std::uint32_t links() const;
  /// Bytes per second; 0 where the cluster has no such link.
  double capacity(std::uint32_t link) const;

  /// Loads of a collective, sorted by link; empty for one member. Preconditions: members are
  /// ascending ranks of the cluster; kind is not send_recv.
  std::vector<LinkLoad> of_group(CommKind kind, const std::vector<int>& members) const;
  std::vector<LinkLoad> of_transfer(int from, int to) const;

  LinkKind kind_of(std::uint32_t link) const;
  /// The node or rank it belongs to.
  int place_of(std::uint32_t link) const;
  /// "node 3 NICs out".
  std::string name_of(std::uint32_t link) const;

 private:
  class Sum;
  struct Island {
    std::vector<int> members;
    std::vector<int> nodes;  // of each member
  };
  std::vector<Island> islands_of(const std::vector<int>& members) const;
  void add_inside(Sum& sum, const std::vector<int>& members, double weight) const;
  /// Whether ranks of two nodes talk over uplinks.
  bool climbs(int rank, int other) const;
  std::uint32_t link(LinkKind kind, int place) const;

  Cluster cluster_;
  LinkSpeeds speeds_;
  bool uplinks_;
};

/// Loads of the group `rank` belongs to; empty when the communicator leaves it out.
std::vector<LinkLoad> loads_of_group(const LinkMap& map, const Mesh& mesh, const Comm& comm,
                                     CommKind kind, int rank);

}  // namespace windtunnel
