// Outcomes travel as bytes: nothing is lost, and bytes that are not whole are told.

#include "runtime/rank_outcome.h"

#include <gtest/gtest.h>

#include <cstring>

namespace windtunnel {
namespace {

RankOutcome outcome() {
  StepOutcome step{.loss = 3.25, .has_loss = true, .end = 123'456};
  step.memory.allocated_bytes = 1000;
  step.memory.reserved_bytes = 2000;
  step.memory.by_category[1] = 77;
  step.traffic = {{.communicator = "dp", .kind = 2, .count = 3, .bytes = 400},
                  {.communicator = "", .kind = 5, .count = 1, .bytes = 8}};
  step.records.resize(2);
  step.records[1].start = 11;
  step.records[1].end = 22;
  step.values.losses = {{.rank = 1, .dp_rank = 2, .micro_batch = 3, .loss = 0.5}};
  step.values.norms = {{.rank = 1, .norm2 = 6.0}};
  step.values.gradients = {{.param = 4, .rank = 1, .index = {0, 5}, .values = {1.5, -2.5}}};
  step.values.updated = {{.param = 4, .rank = 1, .index = {}, .values = {}}};
  return {.rank = 1, .steps = {step, StepOutcome{}}};
}

TEST(RankOutcome, RoundTrip) {
  const std::string bytes = pack(outcome());
  const RankOutcome back = unpack_outcome(bytes);
  EXPECT_EQ(pack(back), bytes);
  EXPECT_EQ(back.rank, 1);
  ASSERT_EQ(back.steps.size(), 2U);
  const StepOutcome expected = outcome().steps[0];
  const StepOutcome& got = back.steps[0];
  EXPECT_EQ(got.loss, 3.25);
  EXPECT_TRUE(got.has_loss);
  EXPECT_EQ(got.end, 123'456);
  EXPECT_EQ(got.memory.reserved_bytes, 2000);
  EXPECT_EQ(got.memory.by_category, expected.memory.by_category);
  EXPECT_EQ(got.traffic, expected.traffic);
  EXPECT_EQ(got.records.at(1).end, 22);
  EXPECT_EQ(got.values.losses.at(0).loss, 0.5);
  EXPECT_EQ(got.values.norms.at(0).norm2, 6.0);
  EXPECT_EQ(got.values.gradients.at(0).index, (std::vector<std::int64_t>{0, 5}));
  EXPECT_EQ(got.values.gradients.at(0).values, (std::vector<double>{1.5, -2.5}));
  EXPECT_TRUE(got.values.used.empty());
}

TEST(RankOutcome, EveryTruncationIsTold) {
  const std::string bytes = pack(outcome());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_THROW(unpack_outcome(bytes.substr(0, n)), ExecutionError) << n;
  }
  EXPECT_THROW(unpack_outcome(bytes + 'x'), ExecutionError);
}

TEST(RankOutcome, OtherBytesAreTold) {
  EXPECT_THROW(unpack_outcome(""), ExecutionError);
  EXPECT_THROW(unpack_outcome(std::string(4096, '\0')), ExecutionError);
}

/// Wherever a length stands: one that cannot be is told, not allocated.
TEST(RankOutcome, HostileLengthsAreTold) {
  const std::string bytes = pack(outcome());
  for (const std::uint64_t hostile : {~std::uint64_t{0}, std::uint64_t{1} << 62,
                                      std::uint64_t{1} << 40, std::uint64_t{bytes.size()}}) {
    for (std::size_t at = 12; at + sizeof hostile <= bytes.size(); ++at) {
      std::string changed = bytes;
      std::memcpy(changed.data() + at, &hostile, sizeof hostile);
      try {
        unpack_outcome(changed);  // a value may be anything
      } catch (const ExecutionError&) {
      }
    }
    std::string changed = bytes;
    std::memcpy(changed.data() + 12, &hostile, sizeof hostile);  // behind mark and rank: the steps
    EXPECT_THROW(unpack_outcome(changed), ExecutionError);
  }
}

}  // namespace
}  // namespace windtunnel
