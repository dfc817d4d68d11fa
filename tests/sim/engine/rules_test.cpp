// The rules of the timeline, one by one: events, last arrival, idle accounts, stuck programs,
// lanes.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/toy_pipeline.h"

namespace windtunnel {
namespace {

using toy::Toy;
using toy::units;

Picoseconds exposed(const StepTiming& timing, int role, std::uint32_t comm) {
  for (std::size_t c = 0; c < timing.categories.size(); ++c) {
    if (timing.categories[c] == TimeCategory{.kind = TimeKind::exposed_comm, .comm = comm}) {
      return timing.time(role, c, 0);
    }
  }
  return -1;
}

TEST(Rules, WaitBindsToTheLatestRecordAndNeverRecordedIsNoWait) {
  Toy toy;
  const auto event = toy.event(0, false);
  toy.segment("step");
  toy.wait(event, Stream::compute);  // never recorded
  toy.add({.kind = OpKind::compute, .stream = Stream::to_host}, units(3));
  toy.record(event, Stream::to_host);
  toy.add({.kind = OpKind::compute, .stream = Stream::to_host}, units(4));
  toy.wait(event, Stream::compute);  // the record at 3, not the op after it
  toy.compute(units(1));
  toy.record(event, Stream::to_host);
  toy.wait(event, Stream::compute);  // 7
  toy.compute(units(1));
  toy.call(0, 0);
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(8));
}

TEST(Rules, CollectiveStartsAtTheLastArrivalAndTheEarlyWait) {
  Toy toy({.tp = 4});
  const auto tp = toy.comm("tp", kAxisTp);
  toy.segment("step");
  toy.compute(units(10));
  toy.collective(tp, units(2));
  toy.call(0, 0);
  toy.costs.slow_ranks = {{.rank = 2, .factor = 1.5}};
  const StepTiming timing = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  EXPECT_EQ(timing.step_time[0], units(17));
  for (int lane = 0; lane < 4; ++lane) {
    EXPECT_EQ(timing.total(0, TimeKind::straggler, lane), lane == 2 ? 0 : units(5));
    EXPECT_EQ(timing.total(0, TimeKind::exposed_comm, lane), units(2));
  }
}

TEST(Rules, OpsOfOneCommunicatorRunInIssueOrderAcrossStreams) {
  Toy toy({.dp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  toy.segment("step");
  toy.collective(dp, units(5), Stream::dp);
  toy.collective(dp, units(3), Stream::tp);
  toy.collective(dp, units(1), Stream::compute);
  toy.call(0, 0);
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(9));
}

TEST(Rules, WaitForATransferIsBubbleUntilItStartsAndCommunicationThen) {
  Toy toy({.pp = 2});
  const auto pp = toy.comm("pp_fwd", kAxisPp);
  toy.segment("sender");
  toy.compute(units(7));
  toy.send(1, pp, units(2), Stream::compute);
  toy.segment("receiver");
  toy.recv(0, pp, Stream::compute);
  toy.compute(units(1));
  toy.call(0, 0);
  toy.call(1, 1);
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(10));
  EXPECT_EQ(timing.total(1, TimeKind::bubble, 0), units(7));
  EXPECT_EQ(exposed(timing, 1, pp), units(2));
  EXPECT_EQ(exposed(timing, 0, pp), units(2));
  EXPECT_EQ(timing.total(0, TimeKind::bubble, 0), units(1)) << "idle at the end of the step";
}

TEST(Rules, GroupIsPostedTogetherAndEndsTogether) {
  // Both roles batch a send and a receive on the compute stream: neither blocks the other.
  Toy toy({.pp = 2});
  const auto fwd = toy.comm("pp_fwd", kAxisPp);
  const auto bwd = toy.comm("pp_bwd", kAxisPp);
  toy.segment("down");
  toy.compute(units(1));
  toy.send(1, fwd, units(2), Stream::compute);
  toy.recv(1, bwd, Stream::compute).grouped = true;
  toy.compute(units(1));
  toy.segment("up");
  toy.compute(units(5));
  toy.send(0, bwd, units(4), Stream::compute);
  toy.recv(0, fwd, Stream::compute).grouped = true;
  toy.compute(units(1));
  toy.call(0, 0);
  toy.call(1, 1);
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(10));
}

TEST(Rules, GroupGoesOnInTheNextCall) {
  // The same exchange with the receives in calls of their own, on one stream and on two.
  for (const Stream recv_stream : {Stream::compute, Stream::pp_recv_fwd}) {
    const bool side = recv_stream != Stream::compute;
    Toy toy({.pp = 2});
    const std::uint32_t comms[] = {toy.comm("pp_fwd", kAxisPp), toy.comm("pp_bwd", kAxisPp)};
    for (const int role : {0, 1}) {
      const auto done = toy.event(role, false);
      toy.segment("send");
      toy.compute(units(role == 0 ? 1 : 5));
      toy.send(1 - role, comms[role], units(role == 0 ? 2 : 4), Stream::compute);
      toy.segment("recv");
      toy.recv(1 - role, comms[1 - role], recv_stream).grouped = true;
      if (side) {
        toy.record(done, recv_stream);
        toy.wait(done, Stream::compute);
      }
      toy.compute(units(1));
      const auto first = static_cast<std::uint32_t>(2 * role);
      toy.call(role, first);
      toy.call(role, first + 1);
    }
    EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(10));
  }
}

TEST(Rules, TransfersOfAChannelFollowEachOtherWhateverTheirStreams) {
  Toy toy({.pp = 2});
  const auto pp = toy.comm("pp", kAxisPp);
  toy.segment("sender");
  toy.send(1, pp, units(2), Stream::pp_send_fwd);
  toy.send(1, pp, units(3), Stream::pp_send_bwd);
  toy.segment("receiver");
  toy.recv(0, pp, Stream::pp_recv_fwd);
  toy.recv(0, pp, Stream::pp_recv_bwd);
  toy.call(0, 0);
  toy.call(1, 1);
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(5));
}

TEST(Rules, RecordBehindAnOpenTransferWaitsForIt) {
  Toy toy({.pp = 2});
  const auto pp = toy.comm("pp", kAxisPp);
  const auto event = toy.event(1, false);
  toy.segment("sender");
  toy.compute(units(4));
  toy.send(1, pp, units(2), Stream::compute);
  toy.segment("receiver");
  toy.recv(0, pp, Stream::compute);
  toy.record(event, Stream::compute);
  toy.wait(event, Stream::to_host);
  toy.add({.kind = OpKind::compute, .stream = Stream::to_host}, units(3));
  toy.call(1, 1);
  toy.call(0, 0);
  EXPECT_EQ(simulate_step(toy.program, toy.costs).step_time[0], units(9));
}

TEST(Rules, CollectiveOfRolesCostsWhatTheLowestRoleSays) {
  Toy toy({.pp = 3});
  const auto world = toy.comm("world", kAxisPp);
  for (const int role : {0, 1, 2}) {
    toy.segment("meet");
    toy.compute(units(3 - role));  // role 2 is there first, role 0 last
    toy.collective(world, units(10 + role));
    toy.call(role, static_cast<std::uint32_t>(role));
  }
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(13));
  EXPECT_EQ(timing.total(2, TimeKind::bubble, 0), units(2));
}

TEST(Rules, StuckProgramNamesEveryWaitingOp) {
  // Each role sends before it receives, both on the compute stream and not as a group.
  Toy toy({.pp = 2});
  const auto pp = toy.comm("pp_fwd", kAxisPp);
  for (const int role : {0, 1}) {
    toy.segment("exchange");
    toy.send(1 - role, pp, units(1), Stream::compute);
    toy.recv(1 - role, pp, Stream::compute);
    toy.call(role, static_cast<std::uint32_t>(role));
  }
  try {
    simulate_step(toy.program, toy.costs);
    FAIL() << "two blocking sends cannot finish";
  } catch (const StuckError& error) {
    EXPECT_STREQ(
        error.what(),
        "the step is stuck:\n"
        "  role 0, call 0 (exchange, chunk 0, micro-batch 0), send or recv (op 1) waits for "
        "the transfer from role 0 to role 1 on 'pp_fwd': role 1 has not received\n"
        "  role 1, call 0 (exchange, chunk 0, micro-batch 0), send or recv (op 3) waits for "
        "the transfer from role 1 to role 0 on 'pp_fwd': role 0 has not received");
  }
}

TEST(Rules, HostSyncDrainsTheQueue) {
  Toy toy;
  const auto event = toy.event(0, false);
  toy.segment("step");
  toy.compute(units(10));
  toy.record(event, Stream::compute);
  toy.add({.kind = OpKind::host_sync, .event = event});
  toy.compute(units(10));
  toy.call(0, 0);
  toy.costs.launch = {units(1)};
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.step_time[0], units(22));
  EXPECT_EQ(timing.total(0, TimeKind::host, 0), units(2));
}

TEST(Rules, LoadingDataIsInputAndALoaderThreadOverlaps) {
  Toy inline_load;
  inline_load.segment("step");
  inline_load.host_work(units(3), Module::data);
  inline_load.compute(units(2));
  inline_load.call(0, 0);
  const StepTiming timing = simulate_step(inline_load.program, inline_load.costs);
  EXPECT_EQ(timing.step_time[0], units(5));
  EXPECT_EQ(timing.total(0, TimeKind::input, 0), units(3));

  // O-133: a loader that needs 3 s / 4 workers per batch beside a device that needs 0.5 s.
  Toy prefetch;
  prefetch.segment("step");
  prefetch.host_work(units(0.75), Module::data);
  prefetch.program.ops.back().stream = Stream::to_host;
  prefetch.compute(units(0.5));
  prefetch.call(0, 0);
  const StepTiming bound = simulate_step(prefetch.program, prefetch.costs);
  EXPECT_EQ(bound.step_time[0], units(0.75));
  EXPECT_EQ(bound.total(0, TimeKind::input, 0), units(0.25));
}

TEST(Rules, StragglerSplitsOnlyWhatItTouches) {
  Toy toy = toy::pipeline({.stages = 2, .micro_batches = 2, .tp = 4, .dp = 8});
  toy.costs.slow_ranks = {{.rank = 5, .factor = 2.0}};
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  EXPECT_EQ(timing.grid.lanes(), 4) << "two tp classes by two dp classes";
  std::int64_t ranks = 0;
  for (int lane = 0; lane < timing.grid.lanes(); ++lane) ranks += timing.grid.ranks_of(lane);
  EXPECT_EQ(ranks, 32);
}

TEST(Rules, RanksThatAreSlowAlikeShareALane) {
  Toy toy = toy::pipeline({.stages = 2, .micro_batches = 2, .tp = 2, .dp = 8});
  // Rank = tp + 2 (dp + 8 pp): tp 1 of replicas 3 and 6, on the second stage.
  toy.costs.slow_ranks = {{.rank = 1 + 2 * 11, .factor = 2.0}, {.rank = 1 + 2 * 14, .factor = 2.0}};
  EXPECT_EQ(simulate_step(toy.program, toy.costs).grid.lanes(), 4);
  toy.costs.slow_ranks.back().factor = 3.0;
  EXPECT_EQ(simulate_step(toy.program, toy.costs).grid.lanes(), 6);
}

TEST(Jitter, HasTheStatedDeviationAndDependsOnTheSeedAlone) {
  Toy toy({.tp = 8, .dp = 64});
  toy.segment("step");
  toy.compute(units(1000));
  toy.call(0, 0);
  toy.costs.jitter = {.sigma = 0.02, .seed = 3};
  const StepTiming timing = simulate_step(toy.program, toy.costs);
  ASSERT_EQ(timing.grid.lanes(), 512) << "jitter tells all ranks apart";
  double sum = 0;
  double squares = 0;
  for (const Picoseconds end : timing.roles[0].end) {
    const double z = static_cast<double>(end) / static_cast<double>(units(1000)) - 1;
    sum += z;
    squares += z * z;
  }
  // Four standard errors of 512 draws.
  EXPECT_NEAR(sum / 512, 0.0, 4 * 0.02 / std::sqrt(512.0));
  EXPECT_NEAR(std::sqrt(squares / 512), 0.02, 4 * 0.02 / std::sqrt(2 * 512.0));
  EXPECT_EQ(simulate_step(toy.program, toy.costs).roles[0].end, timing.roles[0].end);
  toy.costs.jitter.seed = 4;
  EXPECT_NE(simulate_step(toy.program, toy.costs).roles[0].end, timing.roles[0].end);
}

}  // namespace
}  // namespace windtunnel
