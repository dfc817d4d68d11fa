#pragma once
// Time of collectives and transfers: measured curves first, NCCL's tuner beyond them.
//
// A curve that matches (kind, ranks, nodes, network) is interpolated in log-log; it is made
// monotone when read. Elsewhere the tuner's estimate is multiplied by the ratio measured / estimate
// of this device's nearest all-reduce curve inside one island, at the same size: the tuner ranks
// well but is 20-40 % short at 1-64 MiB. Past the ends of a short curve the ratio follows the
// longest curve. Groups over nodes take the estimate as it is: their latency terms already give the
// measured efficiency by size (docs/cost_collectives.md). all_to_all is a sum of transfers through
// the narrower of NVLink and NIC; send_recv has curves of its own, scaled to the NIC between nodes.

#include "models/cost/link_shares.h"

namespace windtunnel {

/// Time and origin; 0 for one rank or no bytes.
OpCost collective_cost(const Profile& profile, const CollectiveQuery& query);

/// Log-log interpolation of a curve at `bytes`; outside it the nearest end, scaled to the size.
/// Precondition: the curve has points.
Seconds interpolate(const CollectiveCurve& curve, double bytes);

}  // namespace windtunnel
