#pragma once
// Slow links: how much longer a transfer takes on each lane because of the slowest link among its
// members. Fixed for a step, so worked out once per communicator and channel.

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

  bool any() const { return any_; }

  // Factors per lane, or nullptr where all are 1.
  const FactorQ16* of_collective(int role, std::uint32_t comm) const {
    return any_ ? find(collectives_[static_cast<std::size_t>(role)][comm]) : nullptr;
  }
  const FactorQ16* of_channel(std::uint32_t channel) const {
    return any_ ? find(channels_[channel]) : nullptr;
  }

 private:
  using Factors = std::vector<FactorQ16>;  // [lane]; empty: all 1
  static const FactorQ16* find(const Factors& factors) {
    return factors.empty() ? nullptr : factors.data();
  }

  bool any_;
  std::vector<std::vector<Factors>> collectives_;  // [role][comm]
  std::vector<Factors> channels_;
};

}  // namespace windtunnel
