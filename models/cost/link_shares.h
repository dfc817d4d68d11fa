#pragma once
// The bandwidth one group gets of the links it shares with groups like it.
//
// A node's NICs are shared by the groups that use them at the same time; one group's k members on a
// node can drive at most as many NICs as k devices have (at least one each). With d devices and q
// NICs a node, NIC rate r (data sheet) and the share e that is reached of it:
//   per node  = min(q r / groups, k max(1, q/d) r) e / oversubscription
//   per island = per node * nodes / islands
// A transfer between two ranks uses the NICs of one device: min(max(1, q/d) r, q r / groups) e /
// oversubscription. Sources of e: profile `links.network_efficiency`; NICs of one device work as
// one (aws/aws-ofi-nccl, multi-rail).

#include "models/cost/nccl_tuner.h"
#include "models/cost/profile.h"

namespace windtunnel {

/// How far the members of a group are apart.
enum class Reach : std::uint8_t { nvlink, pcie, network };

Reach reach_of(const Placement& placement);

/// Part of a NIC's rate by data sheet that is reached.
double network_efficiency(const Profile& profile, NetworkType network);

/// Bus bandwidth of a group between its islands. Precondition: reach_of(p) == Reach::network.
BytesPerSecond group_network_bandwidth(const Profile& profile, const Placement& p);

/// Bandwidth of one transfer between nodes. Precondition as above.
BytesPerSecond pair_network_bandwidth(const Profile& profile, const Placement& p);

/// Latency of the wire beyond what measured hops include, in microseconds.
double extra_network_us(const Placement& p);

/// The links as NCCL's tuner wants them.
NcclLinks nccl_links(const Profile& profile, const Placement& p);

/// Ranks, islands and members per island: NVLink domains, or nodes where domains do not matter.
NcclGroup nccl_group(const CollectiveQuery& query);

}  // namespace windtunnel
