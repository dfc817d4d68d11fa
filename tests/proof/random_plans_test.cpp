// Plans drawn at random equal one device in the field.

#include "tests/proof/random_plans.h"

#include <gtest/gtest.h>

#include "core/diagnostics.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "runtime/execution.h"
#include "runtime/proof.h"

namespace windtunnel::proof {
namespace {

/// Each test takes a stretch of seeds, so that they run beside each other.
class RandomPlans : public testing::TestWithParam<int> {};

TEST_P(RandomPlans, EqualOneDevice) {
  constexpr std::uint64_t kSeeds = 40;
  int refused = 0;
  for (std::uint64_t i = 0; i < kSeeds; ++i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(GetParam()) * kSeeds + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      const ResolvedScenario resolved = resolve(random_scenario(seed));
      const ProofResult result =
          compare(lower(resolved), lower(one_device(resolved)), NumberMode::field, 2, seed);
      EXPECT_TRUE(result.equal()) << text_of(result);
    } catch (const InputError&) {
      ++refused;
    } catch (const ExecutionError& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_LT(refused, static_cast<int>(kSeeds) / 2) << "too few plans are proven";
}

INSTANTIATE_TEST_SUITE_P(Proof, RandomPlans, testing::Range(0, 4));

}  // namespace
}  // namespace windtunnel::proof
