#pragma once
// Time of a transfer between ranks, from the curves of a calibration.
//
// A size inside a curve of the same kind, number of ranks and nodes is measured. Below its first
// point a transfer takes as long as that (latency), above its last one the time goes with the
// bytes. Other numbers of ranks and kinds without a curve are scaled from the nearest one: inside a
// node by the bytes that all ranks together move, ranks x busbw factor x size
// (collective_algebra.h), as memory is what they share; over nodes by those that each moves. Where
// no curve spans nodes as the group does, the nearest in nodes stands for it, with nothing known of
// the network.

#include "models/cost/profile.h"

namespace windtunnel {

/// Precondition: the profile has a curve, or the group is one rank or the size 0.
OpCost calibrated_transfer_cost(const Profile& profile, const CollectiveQuery& query);

}  // namespace windtunnel
