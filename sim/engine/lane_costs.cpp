#include "sim/engine/lane_costs.h"

#include <algorithm>

#include "core/check.h"
#include "core/counter_random.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

/// Beyond it, the fixed-point product could leave 64 bits for times of an hour.
constexpr double kMaxFactor = 1000.0;

constexpr double kMostEarly = 0.9;  // a member is there for a part of the time

FactorQ16 checked_factor(double factor) {
  CHECK(factor > 0 && factor <= kMaxFactor, "a rank's factor is above 0 and at most 1000");
  return to_q16(factor);
}

}  // namespace

LaneCosts::LaneCosts(const Program& program, const StepCosts& costs, const LaneGrid& grid, int role)
    : program_(program),
      grid_(grid),
      costs_(costs),
      draws_(costs.draws),
      compute_(costs.duration.data()),
      scratch_(static_cast<std::size_t>(grid.lanes())) {
  const auto place = static_cast<std::size_t>(role);
  if (place < costs.role_factor.size() && costs.role_factor[place] != 1.0) {
    const FactorQ16 factor = checked_factor(costs.role_factor[place]);
    scaled_ = costs.duration;
    for (Picoseconds& time : scaled_) time = scale_q16(time, factor);
    compute_ = scaled_.data();
  }
  const Grid ranks = dense_grid(program.mesh);
  const int pp = program.roles[place].pipeline_rank;
  if (!costs.slow_ranks.empty()) {
    slow_.assign(scratch_.size(), kOneQ16);
    for (int lane = 0; lane < grid.lanes(); ++lane) {
      const int rank = rank_of(ranks, grid.coordinates_of(lane, pp));
      for (const SlowRank& slow : costs.slow_ranks) {
        if (slow.rank == rank) slow_[static_cast<std::size_t>(lane)] = checked_factor(slow.factor);
      }
    }
  }
  if (costs.jitter.any()) {
    CHECK(costs.jitter.transfers.empty() || costs.jitter.transfers.size() == program.ops.size(),
          "noise of every op or of none");
    group_keys_.resize(program_.comms.size());
    sigma_q_ = lane_math::noise_sigma(costs.jitter.sigma);
    for (int lane = 0; lane < grid.lanes(); ++lane) {
      const auto rank = static_cast<std::uint64_t>(rank_of(ranks, grid.coordinates_of(lane, pp)));
      lane_keys_.push_back(counter_hash(costs.jitter.seed, rank));
    }
  }
  uniform_ = draws_ == 1 && slow_.empty() && lane_keys_.empty();
}

void LaneCosts::spread(const Picoseconds* per_draw) {
  if (draws_ == 1) {
    std::fill(scratch_.begin(), scratch_.end(), *per_draw);
    return;
  }
  for (std::size_t first = 0; first < scratch_.size(); first += static_cast<std::size_t>(draws_)) {
    std::copy_n(per_draw, draws_, scratch_.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

const Picoseconds* LaneCosts::compute_each(std::uint32_t call, std::uint32_t op) {
  spread(compute_ + std::size_t{op} * static_cast<std::size_t>(draws_));
  const int lanes = static_cast<int>(scratch_.size());
  if (!slow_.empty()) lane_math::scale_each(scratch_.data(), slow_.data(), lanes);
  if (!lane_keys_.empty()) {
    const std::uint64_t op_key = mix64((std::uint64_t{call} << 32) | op);
    lane_math::add_noise(scratch_.data(),
                         {.lanes = lane_keys_.data(), .op = op_key, .sigma_q = sigma_q_}, lanes);
  }
  return scratch_.data();
}

const Picoseconds* LaneCosts::price_each(std::uint32_t op, const FactorQ16* factors) {
  if (scratch_.size() == 1 && factors == nullptr) return costs_.of(op);
  spread(costs_.of(op));
  if (factors != nullptr) {
    lane_math::scale_each(scratch_.data(), factors, static_cast<int>(scratch_.size()));
  }
  return scratch_.data();
}

const std::uint64_t* LaneCosts::group_keys(std::uint32_t op) {
  const std::uint32_t comm = program_.ops[op].comm;
  std::vector<std::uint64_t>& keys = group_keys_.at(comm);
  if (keys.empty()) {
    for (const int lead : group_leads(grid_, program_.comms[comm])) {
      keys.push_back(lane_keys_[static_cast<std::size_t>(lead)]);
    }
  }
  return keys.data();
}

void LaneCosts::vary_transfer(std::uint32_t call, std::uint32_t op, const Picoseconds* start,
                              Picoseconds* end) {
  if (!varies(op)) return;
  const TransferNoise& noise = costs_.jitter.transfers[op];
  CHECK(noise.early >= 0 && noise.early <= kMostEarly, "a member is there for a part of the time");
  const int lanes = static_cast<int>(scratch_.size());
  const FactorQ16 share = to_q16(1.0 - noise.early);
  for (std::size_t lane = 0; lane < scratch_.size(); ++lane) {
    scratch_[lane] = scale_q16(end[lane] - start[lane], share);
  }
  const std::uint64_t op_key = mix64((std::uint64_t{call} << 32) | op);
  const auto add = [&](const std::uint64_t* keys, std::uint64_t key, double sigma) {
    if (sigma == 0.0) return;
    lane_math::add_noise(scratch_.data(),
                         {.lanes = keys, .op = key, .sigma_q = lane_math::noise_sigma(sigma)},
                         lanes);
  };
  add(group_keys(op), op_key, noise.group);
  add(lane_keys_.data(), mix64(op_key), noise.member);
  lane_math::copy(end, start, lanes);
  lane_math::add_each(end, scratch_.data(), lanes);
}

}  // namespace windtunnel
