#include "planning/validate_row.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/planning/validation_rows.h"

namespace windtunnel {
namespace {

constexpr double kGiB = 0x1p30;
constexpr double kRounding = 1e-12;  // a few roundings of doubles near 1

ValidationRow memory_row(const Measured& measured) {
  ValidationRow row{.id = "r", .source = "s", .group = "", .assumed = {}, .refused = ""};
  row.measured = measured;
  row.predicted = Prediction{.peak_allocated_bytes = std::int64_t{33} << 30,
                             .peak_reserved_bytes = std::int64_t{40} << 30,
                             .peak_device_bytes = std::int64_t{44} << 30};
  return row;
}

TEST(Score, ErrorsAreSigned) {
  EXPECT_DOUBLE_EQ(*timed_row(2.0, 1.5).step_time_error, -0.25);
  EXPECT_DOUBLE_EQ(*timed_row(2.0, 2.5).step_time_error, 0.25);
}

TEST(Score, AnIntervalHoldsWithItsEnds) {
  EXPECT_TRUE(*timed_row(0.9, 1.0).interval_holds);
  EXPECT_TRUE(*timed_row(1.1, 1.0).interval_holds);
  EXPECT_FALSE(*timed_row(0.89, 1.0).interval_holds);
  EXPECT_FALSE(*timed_row(1.11, 1.0).interval_holds);
}

TEST(Score, WithoutAnIntervalThereIsNothingToHold) {
  ValidationRow row = timed_row(1.0, 1.0);
  row.interval_holds.reset();
  row.predicted->step_time_interval_s = {1.0, 1.0};
  score(row);
  EXPECT_FALSE(row.interval_holds);
}

TEST(Score, ARefusedRowHasNoScores) {
  ValidationRow row = memory_row({.step_time = Seconds{1.0}, .source = ""});
  row.predicted.reset();
  score(row);
  EXPECT_FALSE(row.step_time_error || row.memory_error || row.interval_holds);
}

TEST(MeasuredStepTime, ARangeAloneStandsForItsMiddle) {
  const Measured range{.step_time_range = std::pair{Seconds{1.0}, Seconds{3.0}}, .source = ""};
  EXPECT_DOUBLE_EQ(*measured_step_time(range), 2.0);
  EXPECT_DOUBLE_EQ(measured_spread(range), 1.0);
  EXPECT_DOUBLE_EQ(measured_spread({.source = ""}), 0.05);
}

TEST(MeasuredOom, AStepTimeMeansItDidNot) {
  EXPECT_FALSE(*measured_oom({.step_time = Seconds{1.0}, .source = ""}));
  EXPECT_TRUE(*measured_oom({.oom = true, .source = ""}));
  EXPECT_FALSE(*measured_oom({.oom = false, .source = ""}));
  EXPECT_FALSE(measured_oom({.source = ""}).has_value());
}

double error_against(const Measured& measured) {
  return memory_error(memory_row(measured)).value_or(NAN);
}

TEST(MemoryError, IsAgainstThePeakThatIsStated) {
  EXPECT_NEAR(error_against({.peak_allocated = Bytes{30 * kGiB}, .source = ""}), 0.1, kRounding);
  EXPECT_NEAR(error_against({.peak_reserved = Bytes{50 * kGiB}, .source = ""}), -0.2, kRounding);
  EXPECT_NEAR(error_against({.peak_device = Bytes{40 * kGiB}, .source = ""}), 0.1, kRounding);
  EXPECT_FALSE(memory_error(memory_row({.source = ""})));
}

TEST(MemoryError, AllocatedComesFirst) {
  EXPECT_NEAR(
      error_against(
          {.peak_allocated = Bytes{30 * kGiB}, .peak_reserved = Bytes{50 * kGiB}, .source = ""}),
      0.1, kRounding);
}

// "33 GB" where 33 GiB are predicted: read as GiB it is right.
TEST(MemoryError, AnAssumedUnitTakesTheNearer) {
  ValidationRow row = memory_row({.peak_allocated = Bytes{33e9}, .source = ""});
  EXPECT_NEAR(*memory_error(row), kGiB / 1e9 - 1.0, kRounding);
  row.assumed = {"network", "memory_unit"};
  EXPECT_NEAR(*memory_error(row), 0.0, kRounding);
}

TEST(MemoryError, AnAssumedUnitWrittenAsGiBMayMeanGB) {
  ValidationRow row = memory_row({.peak_allocated = Bytes{35.5 * kGiB}, .source = ""});
  row.assumed = {"memory_unit"};
  // 35.5 GB are 33.06 GiB.
  EXPECT_NEAR(*memory_error(row), 33.0 * kGiB / 35.5e9 - 1.0, kRounding);
  row.measured->peak_allocated = Bytes{33 * kGiB};
  EXPECT_NEAR(*memory_error(row), 0.0, kRounding);
}

TEST(AssumesMemory, NamesTheKeysThatDecideMemory) {
  EXPECT_TRUE(assumes_memory({"network", "recompute"}));
  EXPECT_TRUE(assumes_memory({"memory_unit"}));
  EXPECT_TRUE(assumes_memory({"plan.recompute.kind"}));
  EXPECT_FALSE(assumes_memory({"network"}));
  EXPECT_FALSE(assumes_memory({}));
  EXPECT_FALSE(assumes_memory({"network.recomputer"}));
}

}  // namespace
}  // namespace windtunnel
