// What a lowered program keeps from forward to backward, against the closed forms of Korthikanti et
// al. 2022.
#include <gtest/gtest.h>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

/// Bytes of the frame slots of one layer without the norms' statistics.
std::int64_t kept_by_layer(const std::string& recompute, const std::string& parallel) {
  const std::string text =
      "model: {layers: 3, hidden: 128, ffn: 512, heads: 8, vocab: 512, activation: gelu, norm: "
      "layernorm, "
      "position: learned, bias: true, dropout: true}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 8, nodes: 1}\n"
      "batch: {global: 16, micro: 2, sequence: 64}\n"
      "plan: {attention: unfused, recompute: {" +
      recompute + "}, " + parallel + "}\n";
  const ScenarioSet set = load_scenarios_text(text, "test.yaml");
  const Program program = lower(resolve(set.scenarios.front()));
  std::int64_t bytes = 0;
  for (const Slot& slot : program.roles.front().slots) {
    const bool kept = slot.space == Space::frame && slot.parent == kNone && slot.layer == 1;
    if (kept && slot.category != Category::norm_stats) bytes += slot.bytes();
  }
  return bytes;
}

constexpr double kS = 64, kB = 2, kH = 128, kA = 8;

std::int64_t rounded(double bytes) {
  return static_cast<std::int64_t>(bytes + 0.5);
}

// The residual stream that enters a layer is the output of the layer before, so a layer's own frame
// slots are its output instead of its input: the same sizes.

TEST(Kept, NothingParallel) {
  EXPECT_EQ(kept_by_layer("kind: none", "tp: 1, dp: 8"),
            rounded(kS * kB * kH * (34 + 5 * kA * kS / kH)));
}

TEST(Kept, TensorParallel) {
  EXPECT_EQ(kept_by_layer("kind: none", "tp: 4, dp: 2"),
            rounded(kS * kB * kH * (10 + 24.0 / 4 + 5 * kA * kS / (kH * 4))));
}

TEST(Kept, SequenceParallel) {
  EXPECT_EQ(kept_by_layer("kind: none", "tp: 4, dp: 2, sequence_parallel: true"),
            rounded(kS * kB * kH / 4 * (34 + 5 * kA * kS / kH)));
}

TEST(Kept, SelectiveDropsTheQuadraticPart) {
  EXPECT_EQ(kept_by_layer("kind: selective, modules: [core_attention]",
                          "tp: 4, dp: 2, sequence_parallel: true"),
            rounded(34 * kS * kB * kH / 4));
}

TEST(Kept, FullKeepsTheInputAlone) {
  EXPECT_EQ(kept_by_layer("kind: full", "tp: 1, dp: 8"), rounded(2 * kS * kB * kH));
}

}  // namespace
}  // namespace windtunnel
