#pragma once
// What an op costs on each lane of one role: its price, times the role's and the rank's factors,
// times the rank's noise. Factors act on compute ops only; host work costs the same on every rank.
// A collective or transfer has noise of its own, of the group and of each member.

#include <cstdint>
#include <vector>

#include "sim/engine/fixed_point.h"
#include "sim/engine/instruction.h"
#include "sim/engine/lane_grid.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

class LaneCosts {
 public:
  LaneCosts(const Program& program, const StepCosts& costs, const LaneGrid& grid, int role);

  /// Whether a compute op costs the same on every lane, and then how much.
  bool uniform() const { return uniform_; }
  Picoseconds compute(std::uint32_t op) const { return compute_[op]; }
  /// Cost of a compute op per lane. Valid until the next call.
  const Picoseconds* compute_each(std::uint32_t call, std::uint32_t op);

  /// Price per draw of an op of the compute stream, the role's factor included.
  const Picoseconds* stream_price(const Instruction& i) const {
    return i.action == Action::compute ? compute_ + std::size_t{i.op} * draws() : costs_.of(i.op);
  }
  /// Whether `stream_price` is all there is: no slow ranks, no noise.
  bool by_draw_only() const { return slow_.empty() && lane_keys_.empty(); }

  /// Whether a collective or transfer ends earlier or later than its price says.
  bool varies(std::uint32_t op) const {
    return !costs_.jitter.transfers.empty() && costs_.jitter.transfers[op].any();
  }
  /// Noise of a collective or transfer that runs from `start` to `end`: moves the ends.
  void vary_transfer(std::uint32_t call, std::uint32_t op, const Picoseconds* start,
                     Picoseconds* end);

  /// Price of any other op: per draw, and per lane (valid until the next call).
  const Picoseconds* price(std::uint32_t op) const { return costs_.of(op); }
  const Picoseconds* price_each(std::uint32_t op, const FactorQ16* factors = nullptr);

 private:
  std::size_t draws() const { return static_cast<std::size_t>(draws_); }
  void spread(const Picoseconds* per_draw);
  /// [lane]: the key of the first of the lane's group on the op's communicator.
  const std::uint64_t* group_keys(std::uint32_t op);

  const Program& program_;
  const LaneGrid& grid_;
  const StepCosts& costs_;
  int draws_;
  bool uniform_;
  std::vector<Picoseconds> scaled_;       // prices times the role's factor, where it has one
  const Picoseconds* compute_;            // [op * draws + draw]
  std::vector<FactorQ16> slow_;           // [lane], empty: all 1
  std::vector<std::uint64_t> lane_keys_;  // [lane], empty: no noise
  std::vector<std::vector<std::uint64_t>> group_keys_;  // [comm], filled when asked for
  std::int64_t sigma_q_ = 0;
  std::vector<Picoseconds> scratch_;  // [lane]
};

}  // namespace windtunnel
