#pragma once
// What a program's transfers put on the network, for tier T2 of the engine.
//
// A transfer's price already counts the groups of its own communicator that work beside it
// (placement.h), so a flow is all groups of a role at once: alone it takes its price to the
// picosecond, and the fluid adds only what other communicators take from it. Of the price, that of
// the smallest message is latency; the rest moves the wire bytes. Where prices say more than a link
// carries by its data sheet, the link is taken to be full: alone, no transfer is slowed.
//
// Links are NICs and uplinks (and the memory that ranks of device `cpu` copy through). NVLink and
// PCIe are left to the prices and to T1. Folded, the links of the nodes of each stage's first rank
// stand for all, as the first rank's placement does in pricing.

#include "models/cost/cost_model.h"
#include "planning/pricing.h"
#include "program/program.h"
#include "sim/engine/link_flows.h"
#include "sim/engine/simulate_step.h"
#include "sim/network/link_map.h"

namespace windtunnel {

struct FlowQuestion {
  const Program& program;
  const PricedProgram& priced;
  const CostModel& model;
  const Cluster& cluster;
  LinkSpeeds speeds;
  Ranks ranks = Ranks::folded;  // all: flows per group too, for a step that is not folded
};

/// Whether some role's forward or backward holds a collective over the network on the compute
/// stream: such a collective holds up the pass, again and again, so what slows it counts in full.
/// O(distinct communicators and roles).
bool passes_wait_for_network(const Program& program, const Cluster& cluster);

/// Flows of the ops whose links transfers of another communicator, on another stream, could fill
/// with them; none: there is no such link.
LinkFlows price_flows(const FlowQuestion& question);

}  // namespace windtunnel
