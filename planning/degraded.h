#pragma once
// Parts of a cluster that are slow (`cluster.degraded`), as the engine knows them.
//
// A slow device computes `slowdown` times as long; its transfers and its host do not. A slow
// adapter slows the collectives and transfers that leave a node by it: each takes as long as its
// price with all adapters that slow over its price with sound ones, for a collective is as fast as
// its slowest member. On device `unit` that is the ratio of the bandwidths. Derivation:
// docs/host_effects.md.

#include <string>
#include <vector>

#include "models/cost/cost_model.h"
#include "planning/pricing.h"
#include "program/program.h"
#include "scenarios/scenario.h"

namespace windtunnel {

/// Adds slow ranks and links to the priced costs. `model`: nullptr for device `unit`.
/// O(slow ranks * communicators * ops).
void degrade(PricedProgram& priced, const Program& program, const Cluster& cluster,
             const CostModel* model);

/// Of each slow rank its largest slowdown, by rank.
std::vector<SlowRank> slow_ranks(const Cluster& cluster);

/// "rank 17 computes 1.5 times as long": one sentence per entry.
std::vector<std::string> degraded_lines(const Cluster& cluster);

}  // namespace windtunnel
