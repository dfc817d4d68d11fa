// Closed forms of launches, occupancy and streaming: oracles O-128..O-134.

#include <gtest/gtest.h>

#include "models/cost/launch_algebra.h"
#include "models/cost/memory_cost.h"
#include "models/cost/occupancy.h"

namespace windtunnel {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kExact = 1e-12;  // sums of a thousand doubles
constexpr double kStated = 1e-5;  // the oracle's own tolerance

TEST(ClosedForms, O128LaunchBound) {
  const Seconds t = launch_bound_time({.kernels = 1000, .kernel = {2e-6}, .launch = {5e-6}});
  EXPECT_NEAR(t.value, 5002 * kMicro, kExact);
}

TEST(ClosedForms, O129DeviceBound) {
  const Seconds t = launch_bound_time({.kernels = 1000, .kernel = {2e-6}, .launch = {1e-6}});
  EXPECT_NEAR(t.value, 2001 * kMicro, kExact);
}

TEST(ClosedForms, O130Graph) {
  const Seconds t =
      graph_replay_time({.kernels = 1000, .kernel = {2e-6}, .launch = {10e-6}, .gap = {0}});
  EXPECT_NEAR(t.value, 2010 * kMicro, kExact);
}

TEST(ClosedForms, O131Occupancy) {
  const SmLimits hopper;
  EXPECT_DOUBLE_EQ(occupancy(hopper, {.threads = 256, .registers_per_thread = 64}), 0.5);
  EXPECT_DOUBLE_EQ(occupancy(hopper, {.threads = 128, .registers_per_thread = 168}), 0.1875);
  EXPECT_DOUBLE_EQ(occupancy(hopper, {.threads = 256, .shared_bytes = 100 * 1024}), 0.25);
}

TEST(ClosedForms, O132Waves) {
  const std::int64_t tiles = output_tiles(4096, 4096, 128, 128);
  EXPECT_EQ(tiles, 1024);
  EXPECT_EQ(waves(tiles, 132), 8);
  EXPECT_EQ(waves(tiles, 116), 9);
  const std::int64_t large = output_tiles(8192, 8192, 128, 256);
  EXPECT_EQ(waves(large, 132), 16);
  EXPECT_EQ(waves(large, 116), 18);
  EXPECT_EQ(waves(large, 112), 19);
}

TEST(ClosedForms, O133Loader) {
  EXPECT_DOUBLE_EQ(input_bound_step(Seconds{0.5}, Seconds{3.0}, 4).value, 0.75);
  EXPECT_DOUBLE_EQ(input_bound_step(Seconds{0.5}, Seconds{3.0}, 8).value, 0.5);
}

TEST(ClosedForms, O134FusedAdam) {
  constexpr double kParameters = 8'030'261'248.0 / 8;
  constexpr double kBytesPerParameter = 30.0;
  const Seconds t =
      streaming_time(Bytes{kParameters * kBytesPerParameter}, BytesPerSecond{3.35e12});
  EXPECT_NEAR(t.value / 8.98910e-3, 1.0, kStated);
}

}  // namespace
}  // namespace windtunnel
