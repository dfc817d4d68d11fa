// Does the exactness hold at full width? 16,384 ranks, fewer micro-batches.
#include <gtest/gtest.h>

#include "sim/engine/simulate_step.h"
#include "tests/sim/engine/large_program.h"

namespace windtunnel {
namespace {

using toy::Toy;

constexpr toy::LargeSpec kSpec{.micro_batches = 16};

/// Step time, ends and time tables of every lane equal the folded lane's.
void expect_all_lanes_equal_folded(const Toy& toy) {
  const StepTiming folded = simulate_step(toy.program, toy.costs);
  const StepTiming all = simulate_step(toy.program, toy.costs, {.ranks = Ranks::all});
  ASSERT_EQ(folded.grid.lanes(), 1);
  ASSERT_EQ(all.grid.lanes(), 1024);
  EXPECT_EQ(all.step_time, folded.step_time);
  for (std::size_t role = 0; role < all.roles.size(); ++role) {
    for (int lane = 0; lane < all.grid.lanes(); ++lane) {
      ASSERT_EQ(all.roles[role].end[static_cast<std::size_t>(lane)], folded.roles[role].end[0]);
      for (std::size_t c = 0; c < all.categories.size(); ++c) {
        ASSERT_EQ(all.time(static_cast<int>(role), c, lane),
                  folded.time(static_cast<int>(role), c, 0));
      }
    }
  }
}

TEST(Scale, UnfoldedWithoutNoiseEqualsFoldedInT0) {
  expect_all_lanes_equal_folded(toy::large_program(kSpec));
}

TEST(Scale, UnfoldedWithoutNoiseEqualsFoldedInT1) {
  Toy toy = toy::large_program(kSpec);
  toy::add_theft(toy);
  expect_all_lanes_equal_folded(toy);
}

TEST(Scale, NoiseOnEveryRankMakesTheStepLonger) {
  Toy toy = toy::large_program(kSpec);
  const Picoseconds quiet = simulate_step(toy.program, toy.costs).step_time[0];
  toy.costs.jitter = {.sigma = 0.02, .seed = 1};
  const StepTiming noisy = simulate_step(toy.program, toy.costs);
  EXPECT_GT(noisy.step_time[0], quiet) << "every collective waits for the slowest of its group";
  for (std::size_t role = 0; role < noisy.roles.size(); ++role) {
    for (const int lane : {0, 511, 1023}) {
      Picoseconds sum = 0;
      for (std::size_t c = 0; c < noisy.categories.size(); ++c) {
        sum += noisy.time(static_cast<int>(role), c, lane);
      }
      EXPECT_EQ(sum, noisy.step_time[0]);
    }
  }
}

}  // namespace
}  // namespace windtunnel
