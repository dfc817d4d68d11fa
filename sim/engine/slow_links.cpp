#include "sim/engine/slow_links.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.h"
#include "program/op_runs.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

/// Beyond it, the fixed-point product could leave 64 bits for times of an hour.
constexpr double kMaxFactor = 1000.0;

/// A slow link as one op sees it.
struct Slow {
  int rank = 0;
  FactorQ16 factor = kOneQ16;

  friend auto operator<=>(const Slow&, const Slow&) = default;
};

std::vector<Slow> slow_for(const StepCosts& costs, std::uint32_t comm, std::uint32_t op) {
  std::vector<Slow> found;
  for (const SlowLink& link : costs.slow_links) {
    if (link.comm != comm) continue;
    const double factor = link.by_op == kNone ? link.factor : costs.link_factors[link.by_op][op];
    CHECK(factor >= 1 && factor <= kMaxFactor, "a link's factor is 1 to 1000");
    if (to_q16(factor) != kOneQ16) found.push_back({.rank = link.rank, .factor = to_q16(factor)});
  }
  return found;
}

/// The factor of each lane's own link.
std::vector<FactorQ16> own_factors(const Program& program, const LaneGrid& grid, std::size_t role,
                                   const std::vector<Slow>& links) {
  const Grid ranks = dense_grid(program.mesh);
  const int pp = program.roles[role].pipeline_rank;
  std::vector<FactorQ16> factors(static_cast<std::size_t>(grid.lanes()), kOneQ16);
  for (int lane = 0; lane < grid.lanes(); ++lane) {
    const int rank = rank_of(ranks, grid.coordinates_of(lane, pp));
    FactorQ16& factor = factors[static_cast<std::size_t>(lane)];
    for (const Slow& slow : links) {
      if (slow.rank == rank) factor = std::max(factor, slow.factor);
    }
  }
  return factors;
}

bool meets(const Comm& comm, std::size_t role, std::size_t roles) {
  return comm.has_stage(static_cast<int>(role), static_cast<int>(roles));
}

void raise(std::vector<FactorQ16>& factors, const std::vector<FactorQ16>& other) {
  lane_math::raise_to(factors.data(), other.data(), static_cast<int>(factors.size()));
}

class FactorTables {
 public:
  FactorTables(const Program& program, const CompiledProgram& compiled, const LaneGrid& grid)
      : program_(program), compiled_(compiled), grid_(grid) {}

  std::vector<FactorQ16> of(std::size_t role, const Op& op, const std::vector<Slow>& links) const {
    std::vector<FactorQ16> factors = own_factors(program_, grid_, role, links);
    if (op.kind == OpKind::send) {
      raise(factors, own_factors(program_, grid_, static_cast<std::size_t>(op.peer), links));
      return factors;
    }
    const Comm& comm = program_.comms[op.comm];
    join_lanes(grid_, comm, factors);
    if (compiled_.roles_of_comm[op.comm] < 2) return factors;
    for (std::size_t other = 0; other < program_.roles.size(); ++other) {
      if (other == role || !meets(comm, other, program_.roles.size())) continue;
      std::vector<FactorQ16> theirs = own_factors(program_, grid_, other, links);
      join_lanes(grid_, comm, theirs);
      raise(factors, theirs);
    }
    return factors;
  }

 private:
  const Program& program_;
  const CompiledProgram& compiled_;
  const LaneGrid& grid_;
};

}  // namespace

SlowLinks::SlowLinks(const Program& program, const CompiledProgram& compiled,
                     const StepCosts& costs, const LaneGrid& grid) {
  if (costs.slow_links.empty()) return;
  tables_.emplace_back();
  // Role, communicator, receiving role (-1: a collective), links.
  std::map<std::tuple<std::size_t, std::uint32_t, int, std::vector<Slow>>, std::uint32_t> known;
  const FactorTables tables(program, compiled, grid);
  for (std::size_t role = 0; role < program.roles.size(); ++role) {
    std::vector<std::uint32_t>& of_op = of_role_.emplace_back(program.ops.size(), 0U);
    for (const Segment* segment : segments_of(program, program.roles[role])) {
      for (std::uint32_t i = segment->op_begin; i < segment->op_end; ++i) {
        const Op& op = program.ops[i];
        if (op.kind != OpKind::collective && op.kind != OpKind::send) continue;
        std::vector<Slow> links = slow_for(costs, op.comm, i);
        if (links.empty()) continue;
        const int peer = op.kind == OpKind::send ? op.peer : -1;
        const auto [place, added] = known.try_emplace({role, op.comm, peer, std::move(links)},
                                                      static_cast<std::uint32_t>(tables_.size()));
        if (added) tables_.push_back(tables.of(role, op, std::get<3>(place->first)));
        of_op[i] = place->second;
      }
    }
  }
}

}  // namespace windtunnel
