#pragma once
// Which transfers a calibration by ranks measures: a curve per kind, size of the groups and nodes
// they span.

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/measurement_plan.h"
#include "models/cost/cost_model.h"

namespace windtunnel {

/// A kind of transfer by groups of ranks, all at the same time, and the sizes to measure.
struct Curve {
  CommKind kind = CommKind::all_reduce;
  int ranks = 2, nodes = 1;  // of a group
  std::vector<std::vector<int>> groups{};
  std::vector<std::int64_t> bytes{};   // of the full tensor; every member has an equal part
  int communicator = 0;                // from 1 on; 0 is that of all ranks
  PartPlace part = PartPlace::inside;  // of its uses the one furthest away
  std::int64_t touched_bytes = 0;      // of the step that touches most

  /// Null where the rank is in none.
  const std::vector<int>* group_of(int rank) const;
};

/// Each by the groups of its dearest use. Transfers of scenarios with more ranks than there are are
/// left out.
std::vector<Curve> curves_for(std::span<const TransferUse> uses,
                              const std::vector<int>& node_of_rank);

}  // namespace windtunnel
