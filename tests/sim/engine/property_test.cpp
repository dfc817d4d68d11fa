// Do random programs obey the laws of the engine? Equal to the naive engine, folded equal to
// unfolded, T1 without theft equal to T0, accounts that sum, traces that are possible.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/counter_random.h"
#include "program/mesh.h"
#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/naive_step.h"
#include "tests/sim/engine/random_program.h"

namespace windtunnel {
namespace {

using toy::Toy;

/// Up to two slow ranks, up to two slow links, a slow role now and then.
void slow_some(Toy& toy, std::uint64_t seed) {
  const int ranks = static_cast<int>(toy.program.mesh.ranks());
  const auto pick = [&](std::uint64_t what, int sides) {
    return static_cast<int>(counter_hash(seed, 1000 + what) % static_cast<std::uint64_t>(sides));
  };
  for (int k = 0; k < pick(0, 3); ++k) {
    const int rank = pick(1 + static_cast<std::uint64_t>(k), ranks);
    const bool known = std::any_of(toy.costs.slow_ranks.begin(), toy.costs.slow_ranks.end(),
                                   [&](const SlowRank& slow) { return slow.rank == rank; });
    if (!known) toy.costs.slow_ranks.push_back({.rank = rank, .factor = 1.1 + 0.3 * k});
  }
  for (int k = 0; k < pick(6, 3); ++k) {
    const auto place = 7 + 2 * static_cast<std::uint64_t>(k);
    toy.costs.slow_links.push_back({.rank = pick(place, ranks),
                                    .comm = static_cast<std::uint32_t>(pick(
                                        place + 1, static_cast<int>(toy.program.comms.size()))),
                                    .factor = 1.5 + k});
  }
  if (!toy.costs.slow_links.empty() && pick(11, 2) == 0) {
    std::vector<double>& by_op = toy.costs.link_factors.emplace_back();
    for (std::size_t i = 0; i < toy.program.ops.size(); ++i) {
      // The k-th of one role meets the k-th of another: they are slowed alike.
      const Op& op = toy.program.ops[i];
      const bool several_roles =
          op.kind == OpKind::collective && (toy.program.comms[op.comm].axes & kAxisPp) != 0;
      by_op.push_back(
          several_roles ? 1.5 : 1.0 + 0.25 * static_cast<double>(counter_hash(seed, 2000, i) % 5));
    }
    toy.costs.slow_links.back().by_op = 0;
  }
  if (pick(5, 3) == 0) {
    toy.costs.role_factor.assign(toy.program.roles.size(), 1.0);
    toy.costs.role_factor.back() = 1.37;
  }
}

void add_theft(Toy& toy) {
  for (std::size_t cls = 0; cls < toy.costs.theft.compute.size(); ++cls) {
    for (std::size_t kind = 0; kind < toy.costs.theft.transfer.size(); ++kind) {
      toy.costs.theft.compute[cls][kind] = 0.05 * static_cast<double>(cls + kind);
    }
  }
  toy.costs.theft.transfer.fill(0.125);
}

void expect_accounts_sum(const StepTiming& timing) {
  for (std::size_t role = 0; role < timing.roles.size(); ++role) {
    for (int lane = 0; lane < timing.grid.lanes(); ++lane) {
      Picoseconds sum = 0;
      for (std::size_t c = 0; c < timing.categories.size(); ++c) {
        const Picoseconds time = timing.time(static_cast<int>(role), c, lane);
        EXPECT_GE(time, 0);
        sum += time;
      }
      EXPECT_EQ(sum, timing.step_time[static_cast<std::size_t>(timing.grid.draw_of(lane))]);
    }
  }
}

/// Lane of the folded grid that stands for the given lane of the unfolded one.
int folded_lane(const StepTiming& folded, const StepTiming& all, const Toy& toy, int lane) {
  const Grid grid = dense_grid(toy.program.mesh);
  const auto factors = [&](const Coordinates& place, Axis axis) {
    // What the slow ranks look like from this coordinate of the axis.
    std::vector<std::tuple<int, std::uint32_t, double, std::uint32_t>> seen;
    const auto note = [&](int rank, std::uint32_t comm, double factor, std::uint32_t by_op) {
      Coordinates at = coordinates_of(grid, rank);
      if (at.at(axis) != place.at(axis)) return;
      at.set(axis, 0);
      seen.emplace_back(rank_of(grid, at), comm, factor, by_op);
    };
    for (const SlowRank& slow : toy.costs.slow_ranks) note(slow.rank, kNone, slow.factor, kNone);
    for (const SlowLink& slow : toy.costs.slow_links) {
      note(slow.rank, slow.comm, slow.factor, slow.by_op);
    }
    std::sort(seen.begin(), seen.end());
    return seen;
  };
  const Coordinates wanted = all.grid.coordinates_of(lane, 0);
  for (int candidate = 0; candidate < folded.grid.lanes(); ++candidate) {
    const Coordinates place = folded.grid.coordinates_of(candidate, 0);
    if (factors(place, kAxisTp) == factors(wanted, kAxisTp) &&
        factors(place, kAxisCp) == factors(wanted, kAxisCp) &&
        factors(place, kAxisDp) == factors(wanted, kAxisDp)) {
      return candidate;
    }
  }
  return -1;
}

void expect_folded_equals_all(const Toy& toy) {
  const StepTiming folded = simulate_step(toy.program, toy.costs);
  const StepTiming all = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  EXPECT_EQ(folded.step_time, all.step_time);
  EXPECT_EQ(folded.categories, all.categories);
  expect_accounts_sum(folded);
  expect_accounts_sum(all);
  for (int lane = 0; lane < all.grid.lanes(); ++lane) {
    const int same = folded_lane(folded, all, toy, lane);
    ASSERT_GE(same, 0);
    for (std::size_t role = 0; role < all.roles.size(); ++role) {
      EXPECT_EQ(all.roles[role].end[static_cast<std::size_t>(lane)],
                folded.roles[role].end[static_cast<std::size_t>(same)]);
      for (std::size_t c = 0; c < all.categories.size(); ++c) {
        EXPECT_EQ(all.time(static_cast<int>(role), c, lane),
                  folded.time(static_cast<int>(role), c, same))
            << "role " << role << " category " << c << " lane " << lane;
      }
    }
  }
}

class RandomPrograms : public testing::TestWithParam<std::uint64_t> {
 protected:
  /// A hundred programs per instance keep the list of tests short.
  template <class Check>
  void for_each_program(Check check) const {
    for (std::uint64_t k = 0; k < 100 && !HasFailure(); ++k) {
      const std::uint64_t seed = GetParam() + k;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Toy toy = toy::random_program(seed);
      slow_some(toy, seed);
      check(toy);
    }
  }
};

TEST_P(RandomPrograms, EveryRankEndsWhenTheNaiveEngineSays) {
  for_each_program([](Toy& toy) {
    const toy::NaiveTiming naive = toy::naive_step(toy.program, toy.costs);
    const StepTiming all = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
    EXPECT_EQ(all.step_time[0], naive.step_time);
    const Grid grid = dense_grid(toy.program.mesh);
    for (std::size_t role = 0; role < all.roles.size(); ++role) {
      for (int lane = 0; lane < all.grid.lanes(); ++lane) {
        const int rank = rank_of(grid, all.grid.coordinates_of(lane, static_cast<int>(role)));
        EXPECT_EQ(all.roles[role].end[static_cast<std::size_t>(lane)],
                  naive.end[static_cast<std::size_t>(rank)])
            << "rank " << rank;
      }
    }
  });
}

TEST_P(RandomPrograms, FoldedEqualsUnfoldedInT0) {
  for_each_program([](Toy& toy) { expect_folded_equals_all(toy); });
}

TEST_P(RandomPrograms, FoldedEqualsUnfoldedInT1) {
  for_each_program([](Toy& toy) {
    add_theft(toy);
    expect_folded_equals_all(toy);
  });
}

TEST_P(RandomPrograms, DrawsAreIndependentRuns) {
  for_each_program([](Toy& toy) {
    add_theft(toy);
    constexpr int kDraws = 3;
    Toy together = toy;
    together.costs.draws = kDraws;
    together.costs.duration.clear();
    together.costs.launch.clear();
    std::vector<Picoseconds> alone;
    std::vector<StepTiming> runs;
    for (int draw = 0; draw < kDraws; ++draw) {
      Toy one = toy;
      for (Picoseconds& cost : one.costs.duration) cost += cost * draw / 7;
      one.costs.launch[0] += draw;
      together.costs.launch.push_back(one.costs.launch[0]);
      runs.push_back(simulate_step(one.program, one.costs));
      alone.push_back(runs.back().step_time[0]);
    }
    for (const Picoseconds cost : toy.costs.duration) {
      for (int draw = 0; draw < kDraws; ++draw) {
        together.costs.duration.push_back(cost + cost * draw / 7);
      }
    }
    const StepTiming timing = simulate_step(together.program, together.costs);
    EXPECT_EQ(timing.step_time, alone);
    for (int lane = 0; lane < timing.grid.lanes(); ++lane) {
      const StepTiming& run = runs[static_cast<std::size_t>(timing.grid.draw_of(lane))];
      for (std::size_t c = 0; c < timing.categories.size(); ++c) {
        EXPECT_EQ(timing.time(0, c, lane), run.time(0, c, lane / kDraws));
      }
    }
  });
}

TEST_P(RandomPrograms, TraceChangesNothingAndIsPossible) {
  for_each_program([](Toy& toy) {
    const StepTiming plain = simulate_step(toy.program, toy.costs);
    const StepTiming traced = simulate_step(toy.program, toy.costs, {.trace = true});
    EXPECT_EQ(plain.step_time, traced.step_time);
    for (std::size_t role = 0; role < plain.roles.size(); ++role) {
      EXPECT_EQ(plain.roles[role].end, traced.roles[role].end);
      EXPECT_EQ(plain.roles[role].time, traced.roles[role].time);
    }
    std::map<std::tuple<int, int, Stream>, Picoseconds> tail;
    Picoseconds last = 0;
    for (const TraceRecord& record : traced.trace.records) {
      const Op& op = toy.program.ops[record.op];
      EXPECT_LE(record.start, record.end);
      if (op.kind != OpKind::host_work || op.stream == Stream::compute) {
        EXPECT_LE(record.issue, record.start);
      }
      Picoseconds& busy = tail[{record.role, record.lane, record.stream}];
      // Members of a group run together; else a stream runs one op at a time, in issue order.
      EXPECT_TRUE(op.grouped || record.start >= busy);
      busy = std::max(busy, record.end);
      last = std::max(last, record.end);
    }
    EXPECT_LE(last, traced.step_time[0]);
    for (const TraceTransfer& transfer : traced.trace.transfers) {
      const TraceRecord& send = traced.trace.records[transfer.send];
      const TraceRecord& recv = traced.trace.records[transfer.recv];
      EXPECT_EQ(toy.program.ops[send.op].kind, OpKind::send);
      EXPECT_EQ(toy.program.ops[recv.op].kind, OpKind::recv);
      EXPECT_EQ(toy.program.ops[send.op].peer, recv.role);
      EXPECT_EQ(send.lane, recv.lane);
      EXPECT_EQ(send.end, recv.end);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Values(0, 100, 200));

}  // namespace
}  // namespace windtunnel
