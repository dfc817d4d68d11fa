// Tier T2: do transfers of different communicators share their links? Closed forms of small steps,
// and laws on random programs: room for all changes nothing, starts and ends agree with the fluid,
// folded equals unfolded.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/counter_random.h"
#include "sim/engine/simulate_step.h"
#include "sim/network/fluid.h"
#include "tests/sim/engine/random_program.h"

namespace windtunnel {
namespace {

using toy::Toy;
using toy::units;

/// One link that carries a unit of work in a unit of time.
constexpr double kUnitRate = kPicosecondsPerSecond / static_cast<double>(toy::kUnit);
/// m equal flows and one of weight m add up in another order, so an end may round otherwise, and
/// with it those that come after: a picosecond along a chain of at most a hundred transfers.
constexpr Picoseconds kRounding = 100;

void give_links(Toy& toy, std::vector<double> capacity) {
  toy.costs.flows.capacity = std::move(capacity);
  toy.costs.flows.of_role.assign(toy.program.roles.size(),
                                 std::vector<LinkFlows::OpFlow>(toy.program.ops.size()));
}

/// The op's transfer loads these links; alone it takes all its time but the latency to send `work`.
void flow(Toy& toy, int role, std::uint32_t op, std::vector<LinkLoad> loads, double work,
          Picoseconds latency = 0) {
  LinkFlows& flows = toy.costs.flows;
  flows.of_role[static_cast<std::size_t>(role)][op] = {
      .pattern = static_cast<std::uint32_t>(flows.patterns.size()),
      .work = work,
      .latency = latency};
  flows.patterns.push_back({.folded = std::move(loads), .by_lane = {}});
}

/// Two communicators of one role, each with a collective of 4 on a stream of its own, the second
/// `later` after the first, both on link 0.
Toy two_collectives(double later, Picoseconds latency = 0) {
  Toy toy({.tp = 2, .dp = 2});
  const auto first = toy.comm("dp", kAxisDp);
  const auto second = toy.comm("tp", kAxisTp);
  toy.segment("step");
  toy.collective(first, units(4), Stream::dp);
  toy.host_work(units(later));
  toy.collective(second, units(4), Stream::tp);
  toy.call(0, 0);
  give_links(toy, {kUnitRate});
  flow(toy, 0, 0, {{0, 1.0}}, 4 - double(latency) / toy::kUnit, latency);
  flow(toy, 0, 2, {{0, 1.0}}, 4 - double(latency) / toy::kUnit, latency);
  return toy;
}

TEST(SharedLinks, TwoCollectivesAtOnceTakeTwiceTheTime) {
  const StepTiming timing = simulate_step(two_collectives(0).program, two_collectives(0).costs);
  EXPECT_EQ(timing.step_time[0], units(8));
  EXPECT_EQ(timing.sharing.slowed, 2);
  EXPECT_TRUE(timing.sharing.settled);
}

TEST(SharedLinks, HalfOverlapTakesOneAndAHalf) {
  const Toy toy = two_collectives(2);
  const StepTiming timing = simulate_step(toy.program, toy.costs, {.trace = true});
  EXPECT_EQ(timing.trace.records[0].end, units(6));  // 1.5 times 4
  EXPECT_EQ(timing.step_time[0], units(8));          // the second: from 2 to 8
}

TEST(SharedLinks, LatencyIsNotShared) {
  // Both stream from 1 on, together 6 units of work.
  const Toy toy = two_collectives(0, units(1));
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(7));
}

TEST(SharedLinks, OneAfterTheOtherIsTierZero) {
  const Toy toy = two_collectives(4);
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(8));
  EXPECT_EQ(timing.sharing.rounds, 1);
  EXPECT_EQ(timing.sharing.slowed, 0);
}

TEST(SharedLinks, TwoGroupsOfOneCommunicatorOverOneNic) {
  // Two dp groups (tp 0 and tp 1) that each could fill the node's NIC: twice the time, whether they
  // are one flow of weight 2 or two flows.
  Toy toy({.tp = 2, .dp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  toy.segment("step");
  toy.collective(dp, units(3), Stream::dp);
  toy.call(0, 0);
  give_links(toy, {kUnitRate});
  flow(toy, 0, 0, {{0, 2.0}}, 3);
  toy.costs.flows.patterns[0].by_lane = {{{0, 1.0}}, {}, {{0, 1.0}}, {}};
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(6));
  const StepTiming all = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  EXPECT_EQ(all.step_time[0], units(6));
  EXPECT_EQ(all.sharing.slowed, 2);
}

TEST(SharedLinks, PipelineTransferBesideAnAllReduce) {
  // Stage 0's NIC: a transfer of 1 and an all-reduce of 4 at once. The transfer ends at 2, the
  // all-reduce at 5, and stage 1 computes from 2 to 3.
  Toy toy({.dp = 2, .pp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto pp = toy.comm("pp_fwd", kAxisPp);
  const auto arrived = toy.event(1, false);
  toy.segment("first");
  toy.collective(dp, units(4), Stream::dp);        // op 0
  toy.send(1, pp, units(1), Stream::pp_send_fwd);  // op 1
  toy.segment("second");
  toy.recv(0, pp, Stream::pp_recv_fwd);
  toy.record(arrived, Stream::pp_recv_fwd);
  toy.wait(arrived, Stream::compute);
  toy.compute(units(1));
  toy.call(0, 0);
  toy.call(1, 1);
  give_links(toy, {kUnitRate, kUnitRate});  // NICs of stage 0 out, of stage 1 in
  flow(toy, 0, 0, {{0, 1.0}}, 4);
  flow(toy, 0, 1, {{0, 1.0}, {1, 1.0}}, 1);
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.roles[0].end[0], units(5));
  EXPECT_EQ(timing.roles[1].end[0], units(3));
}

TEST(SharedLinks, OversubscribedUplinkOfTwoReplicas) {
  // Two stages, each with a NIC of its own and an all-reduce of 2; both cross an uplink of one NIC.
  Toy toy({.dp = 2, .pp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  for (int role = 0; role < 2; ++role) {
    toy.segment("step");
    toy.collective(dp, units(2), Stream::dp);
    toy.call(role, static_cast<std::uint32_t>(role));
  }
  give_links(toy, {kUnitRate, kUnitRate, kUnitRate});
  for (std::uint32_t role = 0; role < 2; ++role) {
    flow(toy, static_cast<int>(role), role, {{role, 1.0}, {2, 1.0}}, 2);
  }
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(4));
  toy.costs.flows.capacity[2] = 2 * kUnitRate;
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(2));
}

TEST(SharedLinks, CollectiveOfTheComputeStreamSharesToo) {
  // 2 of compute in one stretch with a blocking collective of 2, beside one of 4 since 0.
  Toy toy({.tp = 2, .dp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto tp = toy.comm("tp", kAxisTp);
  toy.segment("step");
  toy.collective(dp, units(4), Stream::dp);
  toy.compute(units(2));
  toy.collective(tp, units(2));
  toy.compute(units(1));
  toy.call(0, 0);
  give_links(toy, {kUnitRate});
  flow(toy, 0, 0, {{0, 1.0}}, 4);
  flow(toy, 0, 2, {{0, 1.0}}, 2);
  // From 2 on both at half rate, 2 left each: both end at 6; then compute.
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(7));
}

TEST(SharedLinks, CollectiveOfSeveralRolesHasTheFlowOfTheLowest) {
  Toy toy({.dp = 2, .pp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto world = toy.comm("world", kAxisDp | kAxisPp);
  toy.segment("step");
  toy.collective(world, units(2), Stream::tp);
  toy.call(0, 0);
  toy.segment("other");
  toy.collective(dp, units(2), Stream::dp);
  toy.collective(world, units(7), Stream::tp);
  toy.call(1, 1);
  give_links(toy, {kUnitRate});
  flow(toy, 0, 0, {{0, 1.0}}, 2);
  flow(toy, 1, 1, {{0, 1.0}}, 2);
  flow(toy, 1, 2, {{0, 1.0}}, 7);  // not the one that counts
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(4));
  EXPECT_EQ(timing.sharing.slowed, 2);
}

TEST(SharedLinks, ADelayMovesWhatComesAfterIt) {
  // A chain of collectives of 2 on one communicator beside a long one of 12 on another: all share
  // from the start, so each of three takes 4, and the long one has 6 left at 12: it ends at 18.
  Toy toy({.tp = 2, .dp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto tp = toy.comm("tp", kAxisTp);
  toy.segment("step");
  toy.collective(dp, units(12), Stream::dp);
  for (int k = 0; k < 3; ++k) toy.collective(tp, units(2), Stream::tp);
  toy.call(0, 0);
  give_links(toy, {kUnitRate});
  flow(toy, 0, 0, {{0, 1.0}}, 12);
  for (std::uint32_t k = 1; k <= 3; ++k) flow(toy, 0, k, {{0, 1.0}}, 2);
  const StepTiming timing = simulate_step(toy.program, toy.costs, {.trace = true});
  EXPECT_EQ(timing.trace.records[1].end, units(4));
  EXPECT_EQ(timing.trace.records[2].end, units(8));
  EXPECT_EQ(timing.trace.records[3].end, units(12));
  EXPECT_EQ(timing.trace.records[0].end, units(18));
  EXPECT_TRUE(timing.sharing.settled);
}

TEST(SharedLinks, DrawsAreDelayedInProportion) {
  Toy toy = two_collectives(0);
  toy.costs.draws = 2;
  toy.costs.launch.assign(2, 0);
  std::vector<Picoseconds> durations;
  for (const Picoseconds d : toy.costs.duration) durations.insert(durations.end(), {d, 3 * d});
  toy.costs.duration = durations;
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(8));
  EXPECT_EQ(timing.step_time[1], units(24));
}

TEST(SharedLinks, DelaysBeyondTheClockAreGivenUp) {
  // Two chains of 40 collectives of 10^5 s: all would take twice as long, 8 * 10^6 s of delays.
  Toy toy({.tp = 2, .dp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto tp = toy.comm("tp", kAxisTp);
  constexpr int kChain = 40;
  toy.segment("step");
  for (int k = 0; k < kChain; ++k) {
    toy.collective(dp, units(1e11), Stream::dp);
    toy.collective(tp, units(1e11), Stream::tp);
  }
  toy.call(0, 0);
  give_links(toy, {kUnitRate});
  for (std::uint32_t op = 0; op < 2 * kChain; ++op) flow(toy, 0, op, {{0, 1.0}}, 1e11);
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_FALSE(timing.sharing.settled);
  EXPECT_EQ(timing.step_time[0], kChain * units(1e11));
}

/// Flows for about two in three of a random program's transfers, over `links` links of the given
/// capacity: every group of a role loads the same links, so ranks stay alike.
void random_flows(Toy& toy, std::uint64_t seed, double capacity) {
  constexpr std::uint64_t kLinks = 3;
  give_links(toy, std::vector<double>(kLinks, capacity));
  const Mesh& mesh = toy.program.mesh;
  const LaneGrid all = unfolded_grid(mesh, 1);
  for (std::size_t role = 0; role < toy.program.roles.size(); ++role) {
    for (std::uint32_t op = 0; op < toy.program.ops.size(); ++op) {
      const Op& it = toy.program.ops[op];
      if (it.kind != OpKind::collective && it.kind != OpKind::send) continue;
      const std::uint64_t pick = counter_hash(seed, role, op);
      const Picoseconds alone = toy.costs.duration[op];
      if (pick % 3 == 0 || alone == 0) continue;
      // Alone, all groups together use a quarter to all of a link of rate 1.
      int groups = 0;
      std::vector<bool> leads;
      for (int lane = 0; lane < all.lanes(); ++lane) {
        const Coordinates at = all.coordinates_of(lane, 0);
        const std::uint8_t axes = toy.program.comms[it.comm].axes;
        leads.push_back(((axes & kAxisTp) == 0 || at.tp == 0) &&
                        ((axes & kAxisCp) == 0 || at.cp == 0) &&
                        ((axes & kAxisDp) == 0 || at.dp == 0));
        groups += leads.back() ? 1 : 0;
      }
      const auto first = static_cast<std::uint32_t>(pick / 3 % kLinks);
      const auto second = static_cast<std::uint32_t>((first + 1) % kLinks);
      const double part = 0.25 * static_cast<double>(1 + pick / 16 % 4);
      const double work = from_picoseconds(alone).value / groups;
      flow(toy, static_cast<int>(role), op, {{first, groups * part}, {second, groups * part}},
           work);
      for (const bool lead : leads) {
        toy.costs.flows.patterns.back().by_lane.push_back(
            lead ? std::vector<LinkLoad>{{first, part}, {second, part}} : std::vector<LinkLoad>{});
      }
    }
  }
}

constexpr std::uint64_t kPrograms = 300;

TEST(SharedLinks, RoomForAllIsTierZeroToThePicosecond) {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Toy toy = toy::random_program(seed);
    for (const Ranks ranks : {Ranks::folded, Ranks::all}) {
      toy.costs.flows = {};
      const StepTiming plain =
          simulate_step(toy.program, toy.costs, {.ranks = ranks, .trace = true});
      random_flows(toy, seed, 1e6);
      const StepTiming shared =
          simulate_step(toy.program, toy.costs, {.ranks = ranks, .trace = true});
      ASSERT_EQ(plain.trace.records, shared.trace.records);
      ASSERT_EQ(plain.step_time, shared.step_time);
      for (std::size_t role = 0; role < plain.roles.size(); ++role) {
        ASSERT_EQ(plain.roles[role].time, shared.roles[role].time);
      }
      ASSERT_EQ(shared.sharing.rounds, 1);
    }
  }
}

TEST(SharedLinks, FoldedEqualsUnfolded) {
  int slowed = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Toy toy = toy::random_program(seed);
    random_flows(toy, seed, 1.0);
    const StepTiming folded = simulate_step(toy.program, toy.costs);
    const StepTiming all = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
    ASSERT_TRUE(folded.sharing.settled);
    ASSERT_NEAR(folded.step_time[0], all.step_time[0], kRounding);
    slowed += folded.sharing.slowed > 0 ? 1 : 0;
  }
  EXPECT_GT(slowed, static_cast<int>(kPrograms) / 4) << "the programs must share links";
}

/// The fluid of a traced step's own starts.
TEST(SharedLinks, StartsAndEndsAgreeWithTheFluid) {
  int most_rounds = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Toy toy = toy::random_program(seed);
    random_flows(toy, seed, 1.0);
    const StepTiming timing = simulate_step(toy.program, toy.costs, {.trace = true});
    ASSERT_TRUE(timing.sharing.settled);
    most_rounds = std::max(most_rounds, timing.sharing.rounds);
    std::vector<FluidFlow> flows;
    std::vector<Picoseconds> ends;
    std::map<std::pair<std::uint32_t, Picoseconds>, bool> met;  // collectives of several roles
    for (const TraceRecord& record : timing.trace.records) {
      if (record.op >= toy.program.ops.size()) continue;
      const Op& it = toy.program.ops[record.op];
      if (it.kind == OpKind::collective && (toy.program.comms[it.comm].axes & kAxisPp) != 0) {
        // Roles stand in ascending order in a trace: the lowest comes first.
        if (std::exchange(met[{it.comm, record.start}], true)) continue;
      }
      const auto& op = toy.costs.flows.of_role[static_cast<std::size_t>(record.role)][record.op];
      if (op.pattern == UINT32_MAX) continue;
      flows.push_back({.start = record.start,
                       .work = op.work,
                       .own_time = toy.costs.duration[record.op],
                       .loads = toy.costs.flows.patterns[op.pattern].folded});
      ends.push_back(record.end);
    }
    const std::vector<Picoseconds> expected = run_fluid(toy.costs.flows.capacity, flows);
    for (std::size_t f = 0; f < flows.size(); ++f) ASSERT_EQ(ends[f], expected[f]) << "flow " << f;
  }
  RecordProperty("most_rounds", most_rounds);
}

TEST(SharedLinks, SettlesBesideComputeThatItSlows) {
  // With T1 a delayed transfer slows compute for longer, which moves the transfers after it.
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Toy toy = toy::random_program(seed);
    random_flows(toy, seed, 1.0);
    for (auto& of_class : toy.costs.theft.compute) of_class.fill(0.25);
    toy.costs.theft.transfer.fill(0.125);
    const StepTiming timing = simulate_step(toy.program, toy.costs);
    ASSERT_TRUE(timing.sharing.settled);
    for (std::size_t role = 0; role < timing.roles.size(); ++role) {
      Picoseconds sum = 0;
      for (std::size_t c = 0; c < timing.categories.size(); ++c) {
        sum += timing.time(static_cast<int>(role), c, 0);
      }
      ASSERT_EQ(sum, timing.step_time[0]);
    }
  }
}

}  // namespace
}  // namespace windtunnel
