// The one-device program's gradients are the derivatives of its loss: central differences of the
// whole step with respect to elements of every tensor.

#include <gtest/gtest.h>

#include <map>

#include "core/counter_random.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "runtime/interpreter.h"
#include "runtime/param_map.h"
#include "tests/proof/latent_plans.h"
#include "tests/proof/prediction_plans.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {
namespace {

/// Truncation (h^4 = 1e-12 times a fifth derivative) and rounding (1e-15 / h) of the five-point
/// formula at h = 1e-3, against gradients of some 1e-3 to 1.
constexpr double kTolerance = 1e-9;
constexpr double kStep = 1e-3;

double loss_of(const Program& program, const Perturbation& perturbation) {
  const ExecutionRecord record =
      execute(program, {.mode = NumberMode::fp64, .steps = 1, .perturbation = perturbation});
  double sum = 0.0;
  for (const MicroBatchLoss& l : record.steps[0].losses) sum += l.loss;
  return sum;
}

double derivative(const Program& program, Perturbation p) {
  const auto at = [&](int steps) {
    p.delta = steps * kStep;
    return loss_of(program, p);
  };
  return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * kStep);
}

void expect_gradients(Scenario scenario) {
  scenario.batch.global = 2;
  scenario.cluster.devices_per_node = 1;
  const Program program = lower(one_device(resolve(scenario)));
  const ExecutionRecord record = execute(program, {.mode = NumberMode::fp64, .steps = 1});
  ASSERT_FALSE(record.steps[0].gradients.empty());
  for (const TensorPiece& piece : record.steps[0].gradients) {
    const std::string name = tensor_name(program, program.params[piece.param]);
    constexpr std::uint64_t kPerTensor = 3;
    for (std::uint64_t k = 0; k < kPerTensor; ++k) {
      const std::size_t i = counter_hash(5, k) % piece.values.size();
      const double expected = derivative(program, {.tensor = name, .index = piece.index[i]});
      EXPECT_NEAR(expected, piece.values[i], kTolerance) << name << "[" << piece.index[i] << "]";
    }
  }
}

TEST(OneDevice, GradientsOfGpt) {
  expect_gradients(toy_gpt());
}

TEST(OneDevice, GradientsOfGptUnfused) {
  Scenario s = toy_gpt();
  s.plan.attention = AttentionKind::unfused;
  s.model.tied_embeddings = false;
  expect_gradients(s);
}

TEST(OneDevice, GradientsOfLlama) {
  expect_gradients(toy_llama());
}

TEST(OneDevice, GradientsOfLatentAttention) {
  expect_gradients(toy_latent());
}

TEST(OneDevice, GradientsOfHeadNormsAndQkvBiases) {
  Scenario s = toy_head_norms();
  s.model.qkv_bias = true;
  expect_gradients(s);
}

TEST(OneDevice, GradientsOfMultiTokenPrediction) {
  Scenario s = toy_prediction();
  s.model.mtp_layers = 2;
  expect_gradients(s);
}

TEST(OneDevice, GradientsOfBloom) {
  expect_gradients(toy_bloom());
}

}  // namespace
}  // namespace windtunnel::proof
