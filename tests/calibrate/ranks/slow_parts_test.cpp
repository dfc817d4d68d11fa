// Are slow nodes and links named, and only these?

#include "calibrate/ranks/slow_parts.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

/// Two ranks on each of three nodes.
const RankPlaces kPlaces{.hosts = {"a", "a", "b", "b", "c", "c"},
                         .node_of_rank = {0, 0, 2, 2, 4, 4}};

std::vector<RankTimes> ranks(double of_b) {
  std::vector<RankTimes> times(6, RankTimes{{"gemm", 2.0}, {"norm", 1.0}, {"rope", 0.5}});
  for (const std::size_t r : {2U, 3U}) {
    for (auto& [key, seconds] : times[r]) seconds *= of_b;
  }
  return times;
}

TEST(SlowNodes, AreNamedWithTheirHost) {
  const std::vector<std::string> lines = slow_nodes(ranks(1.5), kPlaces);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "node of ranks 2 to 3 (host b): kernels take 1.50 times as long as usual");
}

TEST(SlowNodes, AFewPerCentAreNone) {
  EXPECT_TRUE(slow_nodes(ranks(1.04), kPlaces).empty());
  EXPECT_TRUE(slow_nodes(ranks(0.5), kPlaces).empty()) << "a fast one makes no other slow";
}

TEST(SlowNodes, OneKernelOrOneMeasurementMakesNone) {
  std::vector<RankTimes> times = ranks(1.0);
  times[2]["gemm"] *= 10;
  times[3].erase("norm");
  times[4].clear();
  EXPECT_TRUE(slow_nodes(times, kPlaces).empty());
}

TEST(SlowNodes, TheFirstOneToo) {
  std::vector<RankTimes> times = ranks(1.0);
  for (const std::size_t r : {0U, 1U}) {
    for (auto& [key, seconds] : times[r]) seconds *= 2;
  }
  const std::vector<std::string> lines = slow_nodes(times, kPlaces);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("ranks 0 to 1 (host a): kernels take 2.00"), std::string::npos);
}

TEST(SlowNodes, OfASingleNodeNothingIsSaid) {
  const RankPlaces one{.hosts = {"a", "a"}, .node_of_rank = {0, 0}};
  EXPECT_TRUE(slow_nodes(std::vector<RankTimes>{{{"gemm", 1.0}}, {{"gemm", 9.0}}}, one).empty());
}

TEST(SlowGroups, AreNamedWithTheirNodes) {
  const std::vector<std::vector<int>> groups = {{0, 2}, {1, 3}, {4, 5}};
  const std::vector<std::vector<double>> seconds = {
      {1.0, 1.0, 1.0}, {1.05, 1.05, 1.3}, {2.0, 2.1, 2.1}};
  const std::vector<std::string> lines = slow_groups("all_reduce", groups, seconds, kPlaces);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(
      lines[0],
      "all_reduce of ranks 4, 5: 2.00 times as long as usual (node of ranks 4 to 5 (host c))");
  EXPECT_TRUE(slow_groups("all_reduce", {groups.data(), 1}, {seconds.data(), 1}, kPlaces).empty());
}

TEST(SlowGroups, NowAndThenIsNone) {
  const std::vector<std::vector<int>> groups = {{0, 2}, {1, 3}, {4, 5}};
  const std::vector<std::vector<double>> seconds = {
      {1.0, 1.0, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.0}, {1.0, 1.0, 9.0, 9.0}};
  EXPECT_TRUE(slow_groups("all_reduce", groups, seconds, kPlaces).empty());
}

TEST(SlowGroups, OfASingleNodeNothingIsSaid) {
  const RankPlaces one{.hosts = {"a", "a", "a", "a"}, .node_of_rank = {0, 0, 0, 0}};
  const std::vector<std::vector<int>> groups = {{0, 1}, {2, 3}};
  const std::vector<std::vector<double>> seconds = {{1.0}, {9.0}};
  EXPECT_TRUE(slow_groups("all_reduce", groups, seconds, one).empty());
}

TEST(RankTimes, TravelAsText) {
  Sample kernel{.kind = SampleKind::kernel, .seconds = 0.125};
  kernel.shape.kernel = Kernel::zero;
  const Sample launch{.kind = SampleKind::launch, .seconds = 1.0};
  const std::vector<Sample> samples = {kernel, launch};
  const RankTimes times = unpack_times(pack_times(samples));
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times.begin()->second, 0.125);
  EXPECT_TRUE(unpack_times("").empty());
}

}  // namespace
}  // namespace windtunnel
