// Every plan executed on devices, a thread per stream and rank, equals one device: the streams,
// events and communicators keep the order the program asks for.

#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "program/collective_counts.h"
#include "program/mesh.h"
#include "runtime/interpreter.h"
#include "runtime/proof.h"
#include "runtime/thread_world.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

void PrintTo(const PlanCase& row, std::ostream* out);

namespace {

class Threads : public testing::TestWithParam<PlanCase> {};

std::string name_of(const testing::TestParamInfo<PlanCase>& info) {
  return info.param.name;
}

constexpr int kSteps = 2;  // the second uses what the first updated

void expect_equal(const Programs& programs, NumberMode mode) {
  const ExecutionOptions options{.mode = mode, .steps = kSteps, .seed = 3};
  const ThreadWorldRecord threads = execute_in_threads(programs.plan, options);
  const ExecutionRecord one = execute(programs.one_device, options);
  const ProofResult result = compare_records({.program = programs.plan, .record = threads.record},
                                             {.program = programs.one_device, .record = one}, mode);
  EXPECT_TRUE(result.equal()) << text_of(result);
}

TEST_P(Threads, EqualOneDeviceInTheField) {
  expect_equal(lower_both(GetParam()), NumberMode::field);
}

TEST_P(Threads, EqualOneDeviceInFp64) {
  expect_equal(lower_both(GetParam()), NumberMode::fp64);
}

/// Elements by (communicator, op kind, collective) that the program's calls say.
std::map<TrafficKey, Traffic> counted(const Program& program, std::size_t role) {
  std::map<TrafficKey, Traffic> traffic;
  const CollectiveCounts counts = count_collectives(program, role);
  for (const CollectiveCount& c : counts.collectives) {
    Traffic& t = traffic[{c.comm, OpKind::collective, c.collective}];
    t.count += c.count;
    t.bytes += c.elements * 8;
  }
  for (const TransferCount& c : counts.transfers) {
    Traffic& t = traffic[{c.comm, c.kind, Collective::all_reduce}];
    t.count += c.count;
    t.bytes += c.elements * 8;
  }
  return traffic;
}

TEST_P(Threads, SendWhatTheProgramSays) {
  const Programs programs = lower_both(GetParam());
  const ThreadWorldRecord threads =
      execute_in_threads(programs.plan, {.mode = NumberMode::field, .steps = 1});
  const Grid grid = dense_grid(programs.plan.mesh);
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const auto role = static_cast<std::size_t>(coordinates_of(grid, rank).pp);
    std::map<TrafficKey, Traffic> expected = counted(programs.plan, role);
    for (const auto& [key, got] : threads.record.ranks[static_cast<std::size_t>(rank)].traffic) {
      EXPECT_EQ(got.count, expected[key].count) << "rank " << rank;
      EXPECT_EQ(got.bytes, expected[key].bytes) << "rank " << rank;
      expected.erase(key);
    }
    EXPECT_TRUE(expected.empty()) << "rank " << rank << " left a transfer out";
  }
}

INSTANTIATE_TEST_SUITE_P(Proof, Threads, testing::ValuesIn(plan_cases()), name_of);

}  // namespace
}  // namespace windtunnel::proof
