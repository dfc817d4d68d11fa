#pragma once
// Prices a program: every distinct kernel shape and transfer once, then every op by its shape.
//
// Draw 0 is the nominal cost. Draw d > 0 multiplies a cost by exp(sigma_class z_class + sigma_op
// z_op) with z from a counter hash of (seed, class or shape, d): ops of a class move together,
// equal shapes too.

#include <cstdint>
#include <optional>
#include <vector>

#include "models/cost/calibration.h"
#include "models/cost/cost_model.h"
#include "program/program.h"
#include "scenarios/scenario.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

/// Launches the host may be ahead of a GPU: the depth of the driver's launch queue (CUDA
/// programming practice; see docs/engine.md).
constexpr int kDriverQueue = 1024;

struct PricingOptions {
  int draws = 1;  // the nominal one included
  std::uint64_t seed = 1;
  int run_ahead = kDriverQueue;             // 0: no bound
  std::optional<OverlapFigures> overlap{};  // measured; none: what is known of GPUs
};

/// One distinct cost and how it was come by.
struct PricedItem {
  OpCost cost;
  std::uint32_t shape = kNone;  // compute and host work: index into Program::shapes
  std::uint32_t op = kNone;     // the first op priced by it
};

struct PricedProgram {
  StepCosts costs;
  std::vector<PricedItem> items;
  std::vector<std::uint32_t> item_of_op;  // kNone: the op takes no time
};

/// What the cost model is asked for a role's collective or send.
CollectiveQuery transfer_query(const Program& program, const Cluster& cluster, const Op& op,
                               int role);

/// Device time that replay puts in front of the op's kernels: a gap each (docs/host_effects.md).
Seconds graph_gap(const Op& op, Seconds gap);

/// On a real device.
PricedProgram price(const Program& program, const CostModel& model, const Cluster& cluster,
                    const PricingOptions& options);

/// On device `unit`: the first kernel of a layer's forward (backward) in a segment carries the
/// layer's whole F (B), recomputed forwards F again; transfers cost `hop`, collectives of more than
/// one element what their kind says, everything else `else`. Precondition: cluster.unit.
PricedProgram price_unit(const Program& program, const Cluster& cluster);

}  // namespace windtunnel
