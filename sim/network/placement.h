#pragma once
// Where the members of a communicator sit in a cluster, and which links they share with the groups
// beside them.
//
// Ranks fill nodes in order: rank r sits on node r / devices_per_node, and NVLink domains fill in
// node order too (the last may be partial; plan/resolve_cluster.h has jobs in equal segments). All
// groups of a communicator are taken to work at the same time, as they do in a training step, so a
// node's NICs are shared by every group of that communicator that has a member on the node and
// reaches another domain. A pipeline hop is a pair of neighbours on the pp axis; every rank of a
// stage sends at the same time.
// Source of the rules: reference mapping of Megatron-LM groups, oracles O-120..O-124.

#include "models/cost/cost_model.h"
#include "program/mesh.h"
#include "scenarios/scenario.h"

namespace windtunnel {

/// The node, and the NVLink domain, that a rank is in.
int node_of(const Cluster& cluster, int rank);
int domain_of(const Cluster& cluster, int rank);

/// Whether two ranks of different nodes are on one leaf switch. Leaves fill in node order; where
/// the cluster states no size of a leaf, no two nodes share one.
bool share_leaf(const Cluster& cluster, int rank, int other);

NetworkType network_type(NetworkKind kind);

/// Placement of an explicit group; the other groups that share its NICs are counted by the caller.
/// Precondition: members are ascending ranks of the cluster.
Placement place_members(const Cluster& cluster, const std::vector<int>& members);

/// Placement of the group `rank` belongs to, with its sharing. A group of one when the communicator
/// leaves the rank out.
Placement place_group(const Cluster& cluster, const Mesh& mesh, const Comm& comm, int rank);

/// Placement of the transfer between two neighbouring pipeline ranks, from `rank` to the rank that
/// differs from it by one on the pp axis.
/// Precondition: the rank is not on the last pipeline rank.
Placement place_pipeline_hop(const Cluster& cluster, const Mesh& mesh, int rank);

/// The same between any two pipeline ranks (interleaved schedules wrap from the last to the first).
Placement place_pipeline_hop(const Cluster& cluster, const Mesh& mesh, int rank, int to_stage);

}  // namespace windtunnel
