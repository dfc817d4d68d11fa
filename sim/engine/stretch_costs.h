#pragma once
// Stretches of the compute stream taken as one op.
//
// Ops on one stream, issued one after the other, compose in closed form: with launches paid up to
// op i (l_1 + ... + l_i) and durations d_i, the stream's tail becomes
//   max(tail + sum d_i, host + max_i(l_1 + ... + l_i + d_i + ... + d_n)).
// This holds per lane where no op of the stretch joins lanes and all calls cost the same: folded
// runs without slow ranks, whose lanes are the draws.

#include <cstdint>
#include <vector>

#include "sim/engine/instruction.h"
#include "sim/engine/lane_costs.h"
#include "sim/engine/lane_math.h"
#include "sim/engine/step_costs.h"
#include "sim/engine/time_table.h"

namespace windtunnel {

class StretchCosts {
 public:
  /// `code` outlives this.
  StretchCosts(const RoleCode& code, const LaneCosts& costs, const StepCosts& step_costs);

  /// What the stretch that begins at `first` adds.
  lane_math::StretchLanes of(const Instruction& first) const {
    const Picoseconds* at = values_.data() + 2 * std::size_t{first.stretch} * draws_;
    return {.busy = at, .reach = at + draws_};
  }
  /// Its last compute op; nullptr: it has none.
  const Instruction* last_compute(const Instruction& first) const {
    return last_compute_[first.stretch];
  }
  /// The stretch ran once more; its ops are charged by `charge_to`.
  void count(const Instruction& first) { ++runs_[first.stretch]; }
  void charge_to(TimeTable& table) const;

 private:
  const LaneCosts& costs_;
  std::size_t draws_;
  std::vector<Picoseconds> values_;                       // [stretch][busy, reach][draw]
  std::vector<std::int64_t> runs_;                        // [stretch]
  std::vector<const Instruction*> first_, last_compute_;  // [stretch]
};

}  // namespace windtunnel
