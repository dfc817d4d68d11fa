#include "core/counter_random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace windtunnel {
namespace {

// Statistics of kDraws independent draws stay within five standard errors but once in 10^6; the
// draws are fixed, so a failure means that the generator changed, never bad luck.
constexpr int kDraws = 100'000;
constexpr double kStandardErrors = 5.0;

TEST(CounterRandom, Mix64IsSplitMix64) {
  // The first outputs of SplitMix64 from seed 1234567, as published with its reference code
  // (Vigna, splitmix64.c, and Rosetta Code "Pseudo-random numbers/Splitmix64").
  constexpr std::uint64_t kSeed = 1'234'567;
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  constexpr std::array<std::uint64_t, 5> kPublished = {
      6'457'827'717'110'365'317ULL, 3'203'168'211'198'807'973ULL, 9'817'491'932'198'370'423ULL,
      4'593'380'528'125'082'431ULL, 16'408'922'859'458'223'821ULL};
  for (std::uint64_t i = 0; i < kPublished.size(); ++i) {
    EXPECT_EQ(mix64(kSeed + i * kStep), kPublished[i]) << "output " << i;
  }
}

TEST(CounterRandom, EveryCounterMatters) {
  const std::set<std::uint64_t> values = {counter_hash(1, 2, 3, 4), counter_hash(2, 2, 3, 4),
                                          counter_hash(1, 3, 3, 4), counter_hash(1, 2, 4, 4),
                                          counter_hash(1, 2, 3, 5), counter_hash(1, 3, 2, 4)};
  EXPECT_EQ(values.size(), 6U);
}

TEST(CounterRandom, UnitIntervalCoversItsEndsButNotOne) {
  EXPECT_EQ(to_unit_interval(0), 0.0);
  EXPECT_LT(to_unit_interval(~0ULL), 1.0);
  EXPECT_GT(to_unit_interval(~0ULL), 1.0 - 1e-15);
}

TEST(CounterRandom, UniformHasItsMeanVarianceAndFlatTenths) {
  double sum = 0.0;
  double sum_of_squares = 0.0;
  std::array<int, 10> tenths{};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = to_unit_interval(counter_hash(7, i));
    sum += u;
    sum_of_squares += u * u;
    ++tenths[static_cast<std::size_t>(u * 10.0)];
  }
  const double mean = sum / kDraws;
  const double variance = sum_of_squares / kDraws - mean * mean;
  EXPECT_NEAR(mean, 0.5, kStandardErrors * std::sqrt(1.0 / 12.0 / kDraws));
  EXPECT_NEAR(variance, 1.0 / 12.0, kStandardErrors * std::sqrt(1.0 / 180.0 / kDraws));
  for (const int count : tenths) {
    EXPECT_NEAR(count, kDraws / 10.0, kStandardErrors * std::sqrt(kDraws * 0.1 * 0.9));
  }
}

TEST(CounterRandom, NormalHasItsMomentsAndTails) {
  double sum = 0.0;
  double sum_of_squares = 0.0;
  double sum_of_cubes = 0.0;
  int beyond_two = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double z = to_normal(counter_hash(11, i));
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    sum_of_squares += z * z;
    sum_of_cubes += z * z * z;
    beyond_two += std::abs(z) > 2.0 ? 1 : 0;
  }
  constexpr double kBeyondTwo = 0.0455003;  // 2 (1 - Phi(2))
  EXPECT_NEAR(sum / kDraws, 0.0, kStandardErrors * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(sum_of_squares / kDraws, 1.0, kStandardErrors * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(sum_of_cubes / kDraws, 0.0, kStandardErrors * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(beyond_two, kDraws * kBeyondTwo, kStandardErrors * std::sqrt(kDraws * kBeyondTwo));
}

TEST(CounterRandom, NormalIsFiniteAtTheEndsOfTheHash) {
  EXPECT_TRUE(std::isfinite(to_normal(0)));
  EXPECT_TRUE(std::isfinite(to_normal(~0ULL)));
}

TEST(CounterRandom, NeighbouringCountersAreUncorrelated) {
  double sum = 0.0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    sum += to_normal(counter_hash(3, i)) * to_normal(counter_hash(3, i + 1));
  }
  EXPECT_NEAR(sum / kDraws, 0.0, kStandardErrors * std::sqrt(1.0 / kDraws));
}

}  // namespace
}  // namespace windtunnel
