#include "core/units.h"

#include <gtest/gtest.h>

#include <concepts>

namespace windtunnel {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Dividable = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

TEST(Units, OnlyMeaningfulOperatorsExist) {
  static_assert(Addable<Seconds, Seconds>);
  static_assert(!Addable<Seconds, Bytes>);
  static_assert(!Addable<Seconds, double>);
  static_assert(!Comparable<Seconds, Bytes>);
  static_assert(!Dividable<Seconds, Bytes>);
  static_assert(!Dividable<Bytes, FlopsPerSecond>);
  static_assert(!std::convertible_to<Bytes, double>);
  static_assert(std::same_as<decltype(Bytes{} / BytesPerSecond{}), Seconds>);
  static_assert(std::same_as<decltype(Flops{} / Seconds{}), FlopsPerSecond>);
  static_assert(std::same_as<decltype(Bytes{} / Bytes{}), double>);
}

TEST(Units, AmountOverRateIsTime) {
  EXPECT_EQ((Bytes{300e9} / BytesPerSecond{150e9}).value, 2.0);
  EXPECT_EQ((Flops{624e12} / FlopsPerSecond{312e12}).value, 2.0);
  EXPECT_EQ((Bytes{300e9} / Seconds{2.0}).value, 150e9);
}

TEST(Units, QuantitiesAddScaleAndCompare) {
  Seconds total{1.5};
  total += Seconds{0.5};
  EXPECT_EQ(total.value, 2.0);
  EXPECT_EQ((2.0 * total - Seconds{1.0}).value, 3.0);
  EXPECT_EQ((total / 4.0).value, 0.5);
  EXPECT_LT(Seconds{1.0}, total);
  EXPECT_EQ(total, Seconds{2.0});
}

TEST(Units, ACostIsRoundedOnceToTheNearestPicosecond) {
  EXPECT_EQ(to_picoseconds(Seconds{0.0}), 0);
  EXPECT_EQ(to_picoseconds(Seconds{1e-12}), 1);
  EXPECT_EQ(to_picoseconds(Seconds{1.4e-12}), 1);
  EXPECT_EQ(to_picoseconds(Seconds{1.6e-12}), 2);
  EXPECT_EQ(to_picoseconds(Seconds{3600.0}), 3'600'000'000'000'000);
}

TEST(Units, AStepOfDaysKeepsItsPicoseconds) {
  const Picoseconds two_days = 2LL * 86'400 * 1'000'000'000'000;
  EXPECT_EQ(to_picoseconds(from_picoseconds(two_days)), two_days);
}

}  // namespace
}  // namespace windtunnel
