// Every plan equals one device: exactly in the field, within 1e-11 in fp64, over two steps.

#include <gtest/gtest.h>

#include <ostream>

#include "runtime/proof.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

void PrintTo(const PlanCase& row, std::ostream* out) {
  *out << row.name;
}

namespace {

class Plan : public testing::TestWithParam<PlanCase> {};

std::string name_of(const testing::TestParamInfo<PlanCase>& info) {
  return info.param.name;
}

void expect_equal(const PlanCase& row, NumberMode mode, std::uint64_t seed) {
  const Programs programs = lower_both(row);
  constexpr int kSteps = 2;  // the second uses what the first updated
  const ProofResult result = compare(programs.plan, programs.one_device, mode, kSteps, seed);
  EXPECT_TRUE(result.equal()) << text_of(result);
  constexpr std::int64_t kParameters = 7000;  // of the smallest model: all were compared,
  const int times = scenario_of(row).plan.lora ? 1 : 3;  // frozen ones as they are used
  EXPECT_GT(result.compared, times * kSteps * kParameters);
}

TEST_P(Plan, EqualsOneDeviceInTheField) {
  for (const std::uint64_t seed : {1, 2}) expect_equal(GetParam(), NumberMode::field, seed);
}

TEST_P(Plan, EqualsOneDeviceInFp64) {
  expect_equal(GetParam(), NumberMode::fp64, 1);
}

INSTANTIATE_TEST_SUITE_P(Proof, Plan, testing::ValuesIn(plan_cases()), name_of);

}  // namespace
}  // namespace windtunnel::proof
