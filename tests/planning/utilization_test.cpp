// Is HFU counted from what the program runs?

#include "planning/utilization.h"

#include <gtest/gtest.h>

#include "models/architectures/flops.h"
#include "planning/simulate.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

Lowered lowered(const std::string& plan) {
  const std::string text =
      "model: {layers: 4, hidden: 64, ffn: 256, heads: 8, vocab: 1024}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
      "batch: {global: 16, micro: 1, sequence: 32}\n"
      "plan: " +
      plan + "\n";
  return lower_scenario(load_scenarios_text(text, "test.yaml").scenarios.front());
}

constexpr double kTokens = 16 * 32;
constexpr double kExact = 1e-12;  // relative: sums of doubles

/// One flash kernel that skips the masked half.
constexpr ExecutedQuery kFlash{.span = AttentionSpan::causal, .backward = AttentionBackward::flash};

/// Executed FLOPs of a plan over the formula's.
double over_formula(const std::string& plan, ExecutedQuery query) {
  const Lowered l = lowered(plan);
  query.flops.sequence = 32;
  const Flops formula = executed_flops_per_token(l.resolved.scenario.model, query) * kTokens;
  return executed_flops(l.program).value / formula.value;
}

TEST(ExecutedFlops, EqualTheFormulaOnEveryLayout) {
  for (const char* plan : {"{}", "{tp: 2, pp: 2}", "{tp: 4, sequence_parallel: true}",
                           "{pp: 2, schedule: {kind: interleaved_1f1b, virtual_stages: 2}}"}) {
    EXPECT_NEAR(over_formula(plan, kFlash), 1.0, kExact) << plan;
  }
  ExecutedQuery query = kFlash;
  query.recomputed = Recomputed::layers;
  EXPECT_NEAR(over_formula("{recompute: {kind: full}}", query), 1.0, kExact);
  query.recomputed = Recomputed::core_attention;
  EXPECT_NEAR(over_formula("{recompute: {kind: selective}}", query), 1.0, kExact);
}

TEST(ExecutedFlops, UnfusedAttentionComputesTheMaskedHalfToo) {
  EXPECT_NEAR(over_formula("{attention: unfused}", {.span = AttentionSpan::full,
                                                    .backward = AttentionBackward::stored_scores}),
              1.0, kExact);
}

TEST(ExecutedFlops, SomeLayersRecomputedCountAsSome) {
  const auto flops = [](const char* layers) {
    return executed_flops(
               lowered(std::string("{pp: 2, recompute: {kind: full, layers: ") + layers + "}}")
                   .program)
        .value;
  };
  const double none = flops("0"), all = flops("all");
  EXPECT_GT(all, none);
  EXPECT_NEAR((flops("1") - none) / (all - none), 0.5, kExact);
  EXPECT_NEAR((flops("every 2") - none) / (all - none), 0.5, kExact);
}

// Embedding, positions, head and last norm; per layer 12 h^2 + 13 h.
TEST(Simulate, CountsTheRowsOfALearnedPositionTable) {
  const std::string text =
      "model: {layers: 2, hidden: 64, ffn: 256, heads: 8, vocab: 1024}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 1, nodes: 1}\n"
      "batch: {global: 1, micro: 1, sequence: 32}\n";
  const StepReport report = check(load_scenarios_text(text, "test.yaml").scenarios.front());
  EXPECT_EQ(report.parameters, 2 * 1024 * 64 + 32 * 64 + 2 * 64 + 2 * (12 * 64 * 64 + 13 * 64));
}

TEST(Simulate, RefusesATypeTheDeviceDoesNotMultiplyIn) {
  const std::string text =
      "model: {layers: 2, hidden: 64, ffn: 256, heads: 8, vocab: 1024}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 1, nodes: 1}\n"
      "batch: {global: 1, micro: 1, sequence: 32}\n"
      "plan: {precision: {compute: fp64}}\n";
  try {
    simulate(load_scenarios_text(text, "test.yaml").scenarios.front(), {});
    FAIL() << "the profile has no fp64 rate";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics.front().message,
              "the profile of a100-sxm-80gb has no rate of fp64 products");
    EXPECT_EQ(error.diagnostics.front().position.line, 4);
  }
}

}  // namespace
}  // namespace windtunnel
