// Tier T1: does compute beside a transfer take as long as the closed form says?
#include <gtest/gtest.h>

#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/toy_program.h"

namespace windtunnel {
namespace {

using toy::Toy;
using toy::units;

constexpr auto kGemm = static_cast<std::size_t>(KernelClass::gemm);
constexpr auto kAllReduce = static_cast<std::size_t>(TransferKind::all_reduce);
constexpr auto kPointToPoint = static_cast<std::size_t>(TransferKind::point_to_point);

/// Factors are Q16 fixed point and chosen to be exact in it, so times are too.
struct Beside {
  double before = 0;      // compute issued before the collective
  double after = 0;       // compute issued after it
  double collective = 0;  // its time alone
};

StepTiming run(const Beside& b, double compute_theft, double transfer_theft) {
  Toy toy({.dp = 2});
  const auto dp = toy.comm("dp", kAxisDp);
  const auto reduced = toy.event(0, false);
  toy.segment("step");
  if (b.before > 0) toy.compute(units(b.before));
  toy.collective(dp, units(b.collective), Stream::dp);
  toy.record(reduced, Stream::dp);
  if (b.after > 0) toy.compute(units(b.after));
  toy.wait(reduced, Stream::compute);
  toy.compute(0);
  toy.call(0, 0);
  toy.costs.theft.compute[kGemm][kAllReduce] = compute_theft;
  toy.costs.theft.transfer[kAllReduce] = transfer_theft;
  return simulate_step(toy.program, toy.costs);
}

TEST(Overlap, ComputeLongerThanTheTransferIsSlowedWhileItLasts) {
  // Beside [0, 4] at half speed: 2 of the 10 done, the other 8 alone.
  const StepTiming timing = run({.after = 10, .collective = 4}, 1.0, 0.0);
  EXPECT_EQ(timing.step_time[0], units(12));
  EXPECT_EQ(timing.total(0, TimeKind::compute, 0), units(12));
}

TEST(Overlap, ComputeShorterThanTheTransferIsSlowedThroughout) {
  const StepTiming timing = run({.after = 2, .collective = 10}, 0.5, 0.0);
  EXPECT_EQ(timing.total(0, TimeKind::compute, 0), units(3));
  EXPECT_EQ(timing.total(0, TimeKind::exposed_comm, 0), units(7));
  EXPECT_EQ(timing.step_time[0], units(10));
}

TEST(Overlap, ComputeAlreadyQueuedPaysAtTheEndOfTheQueue) {
  // Queue [0, 10], transfer [0, 4]: loses 4 * 1 / (1 + 1).
  const StepTiming timing = run({.before = 10, .collective = 4}, 1.0, 0.0);
  EXPECT_EQ(timing.step_time[0], units(12));
}

TEST(Overlap, CollectiveBesideComputeTakesLonger) {
  EXPECT_EQ(run({.after = 2, .collective = 8}, 0.0, 0.25).step_time[0], units(10));
  EXPECT_EQ(run({.before = 2, .collective = 8}, 0.0, 0.25).step_time[0], units(10));
  // Nothing computes until it is waited for: as long as alone.
  EXPECT_EQ(run({.collective = 8}, 0.0, 0.25).step_time[0], units(8));
}

/// A transfer in [0, 4] and compute of 10 on the receiver, launched at `launch`; half speed beside.
Picoseconds receiver_end(double launch) {
  Toy toy({.pp = 2});
  const auto pp = toy.comm("pp_fwd", kAxisPp);
  const auto arrived = toy.event(1, false);
  toy.segment("sender");
  toy.send(1, pp, units(4), Stream::pp_send_fwd).launches = 0;
  toy.segment("receiver");
  toy.recv(0, pp, Stream::pp_recv_fwd).launches = 0;
  toy.record(arrived, Stream::pp_recv_fwd);
  toy.compute(units(10));
  toy.wait(arrived, Stream::compute);
  toy.compute(units(1)).launches = 0;
  toy.call(0, 0);
  toy.call(1, 1);
  toy.costs.launch = {units(launch)};
  toy.costs.theft.compute[kGemm][kPointToPoint] = 1.0;
  return simulate_step(toy.program, toy.costs).roles[1].end[0];
}

TEST(Overlap, TransferBetweenRolesSlowsTheComputeItRanBeside) {
  EXPECT_EQ(receiver_end(0), units(13)) << "busy [0, 10] beside [0, 4] loses 2";
  EXPECT_EQ(receiver_end(3), units(14.5)) << "busy [3, 13] beside [3, 4] loses a half";
  EXPECT_EQ(receiver_end(5), units(16)) << "busy [5, 15] loses nothing";
}

}  // namespace
}  // namespace windtunnel
