#pragma once
// Slow links: how much longer a transfer takes on each lane because of the slowest link among its
// members. Fixed for a step, so worked out once per communicator and factors.

#include <cstdint>
#include <vector>

#include "sim/engine/fixed_point.h"
#include "sim/engine/instruction.h"
#include "sim/engine/lane_grid.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

class SlowLinks {
 public:
  SlowLinks(const Program& program, const CompiledProgram& compiled, const StepCosts& costs,
            const LaneGrid& grid);

  bool any() const { return !of_role_.empty(); }

  /// Factors per lane of a role's collective or send, or nullptr where all are 1.
  const FactorQ16* of(int role, std::uint32_t op) const {
    if (!any()) return nullptr;
    const Factors& factors = tables_[of_role_[static_cast<std::size_t>(role)][op]];
    return factors.empty() ? nullptr : factors.data();
  }

 private:
  using Factors = std::vector<FactorQ16>;  // [lane]; empty: all 1

  std::vector<Factors> tables_;                      // the first: all 1
  std::vector<std::vector<std::uint32_t>> of_role_;  // [role][op] index into tables_
};

}  // namespace windtunnel
