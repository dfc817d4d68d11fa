// Is a step whose scaled gradients overflow skipped by every rank, and the scale halved?
//
// Numbers of 64 bits overflow under a scale near 2^1023: the overflow is a real one, which the
// kernels make and the flag tells. The largest scale that keeps the first step finite is searched
// for; a run that starts at twice that must skip steps, their weights as they were, until it
// has halved the scale often enough.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "runtime/thread_world.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {
namespace {

constexpr int kLargestLog2 = 1023;  // of a finite double

std::vector<StepRecord> steps_at(const ResolvedScenario& resolved, int log2_scale, int steps) {
  ResolvedScenario at = resolved;
  at.rules.loss_scaling = {.initial_log2 = log2_scale, .growth_interval = 1000, .hysteresis = 1};
  const ExecutionOptions options{.mode = NumberMode::fp64, .steps = steps, .seed = 3};
  Program program = lower(at);
  // Gradients of a sum of losses, not of their mean, are large enough for finite scales to overflow
  // them.
  for (Shape& shape : program.shapes) {
    if (shape.kernel == Kernel::ce_bwd) shape.dims[2] = 1;
  }
  return execute_in_threads(program, options).record.steps;
}

using Weights = std::map<std::tuple<int, std::uint32_t, std::int64_t>, std::vector<double>>;

/// What the step first read of every weight, by rank, parameter and place.
Weights weights_before(const StepRecord& step) {
  Weights weights;
  for (const TensorPiece& piece : step.used) {
    weights[{piece.rank, piece.param, piece.index.front()}] = piece.values;
  }
  return weights;
}

bool overflows(const StepRecord& step) {
  for (const RankNorm& norm : step.norms) {
    if (!std::isfinite(norm.norm2)) return true;
  }
  return false;
}

int largest_finite(const ResolvedScenario& resolved) {
  int log2_scale = kLargestLog2;
  while (log2_scale > 900 && overflows(steps_at(resolved, log2_scale, 1)[0])) --log2_scale;
  return log2_scale;
}

class LossScaling : public testing::TestWithParam<const char*> {};

TEST_P(LossScaling, AnOverflowSkipsTheStepAndHalvesTheScale) {
  const ResolvedScenario resolved = resolve(scenario_of(plan_case(GetParam())));
  const int finite = largest_finite(resolved);
  std::printf("largest finite scale of the first step: 2^%d\n", finite);
  ASSERT_LT(finite, kLargestLog2) << "no scale makes this step overflow";
  ASSERT_GT(finite, 900);
  constexpr int kSteps = 8;
  const std::vector<StepRecord> steps = steps_at(resolved, finite + 1, kSteps);
  std::size_t taken = 0;
  while (taken < steps.size() && overflows(steps[taken])) ++taken;
  ASSERT_GE(taken, 1U);
  ASSERT_LT(taken + 1, steps.size()) << "the scale was not halved until steps were finite";
  for (std::size_t i = 0; i < taken; ++i) {
    EXPECT_EQ(weights_before(steps[i]), weights_before(steps[i + 1])) << "a step was not skipped";
  }
  EXPECT_NE(weights_before(steps[taken]), weights_before(steps[taken + 1]));
}

INSTANTIATE_TEST_SUITE_P(Proof, LossScaling,
                         testing::Values("fp16_loss_scaling", "tp2_pp2_dp2_fp16_zero1"));

}  // namespace
}  // namespace windtunnel::proof
