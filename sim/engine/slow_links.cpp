#include "sim/engine/slow_links.h"

#include <algorithm>

#include "core/check.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

/// Beyond it, the fixed-point product could leave 64 bits for times of an hour.
constexpr double kMaxFactor = 1000.0;

/// Of the role's ranks themselves: the factor of each lane's own link on the communicator.
std::vector<FactorQ16> own_factors(const Program& program, const StepCosts& costs,
                                   const LaneGrid& grid, int role, std::uint32_t comm) {
  const Grid ranks = dense_grid(program.mesh);
  const int pp = program.roles[static_cast<std::size_t>(role)].pipeline_rank;
  std::vector<FactorQ16> factors(static_cast<std::size_t>(grid.lanes()), kOneQ16);
  for (int lane = 0; lane < grid.lanes(); ++lane) {
    const int rank = rank_of(ranks, grid.coordinates_of(lane, pp));
    for (const SlowLink& slow : costs.slow_links) {
      if (slow.rank != rank || slow.comm != comm) continue;
      CHECK(slow.factor >= 1 && slow.factor <= kMaxFactor, "a link's factor is 1 to 1000");
      FactorQ16& factor = factors[static_cast<std::size_t>(lane)];
      factor = std::max(factor, to_q16(slow.factor));
    }
  }
  return factors;
}

bool meets(const Comm& comm, std::size_t role, std::size_t roles) {
  return !comm.first_and_last_pp || role == 0 || role + 1 == roles;
}

void raise(std::vector<FactorQ16>& factors, const std::vector<FactorQ16>& other) {
  lane_math::raise_to(factors.data(), other.data(), static_cast<int>(factors.size()));
}

/// No vector where every factor is 1.
std::vector<FactorQ16> unless_all_one(std::vector<FactorQ16> factors) {
  const bool all_one = std::all_of(factors.begin(), factors.end(),
                                   [](FactorQ16 factor) { return factor == kOneQ16; });
  return all_one ? std::vector<FactorQ16>{} : factors;
}

}  // namespace

SlowLinks::SlowLinks(const Program& program, const CompiledProgram& compiled,
                     const StepCosts& costs, const LaneGrid& grid)
    : any_(!costs.slow_links.empty()) {
  if (!any_) return;
  const std::size_t roles = program.roles.size();
  collectives_.assign(roles, std::vector<Factors>(program.comms.size()));
  for (std::uint32_t comm = 0; comm < program.comms.size(); ++comm) {
    std::vector<Factors> joined;
    for (std::size_t role = 0; role < roles; ++role) {
      joined.push_back(own_factors(program, costs, grid, static_cast<int>(role), comm));
      join_lanes(grid, program.comms[comm], joined.back());
    }
    Factors together(static_cast<std::size_t>(grid.lanes()), kOneQ16);
    for (std::size_t role = 0; role < roles; ++role) {
      if (meets(program.comms[comm], role, roles)) raise(together, joined[role]);
    }
    const bool several = compiled.roles_of_comm[comm] > 1;
    for (std::size_t role = 0; role < roles; ++role) {
      collectives_[role][comm] = unless_all_one(several ? together : joined[role]);
    }
  }
  for (const Channel& channel : compiled.channels) {
    Factors factors = own_factors(program, costs, grid, channel.source, channel.comm);
    raise(factors, own_factors(program, costs, grid, channel.destination, channel.comm));
    channels_.push_back(unless_all_one(std::move(factors)));
  }
}

}  // namespace windtunnel
