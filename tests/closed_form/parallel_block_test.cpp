// Layers whose attention and MLP read one norm against their formulas: parameters, bytes kept, what
// tensor parallelism sends.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/architectures/parameters.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "tests/closed_form/saved_tensors.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

constexpr std::int64_t kT = 512, kH = 256, kQkv = 384, kF = 640, kHeads = 8, kLayers = 2;

Program lowered(bool parallel, const std::string& plan, int devices = 1) {
  return lower(resolve(scenario_of(fmt::format(
      R"(id: parallel
model: {{layers: 2, hidden: 256, heads: 8, kv_heads: 2, ffn: 640, vocab: 1024, activation: gelu,
        norm: rmsnorm, position: rope, bias: false, parallel_block: {}}}
cluster: {{device: h100-sxm-80gb, devices_per_node: {}, nodes: 1}}
batch: {{global: 1, micro: 1, sequence: 512}}
plan: {{preset: none, {}}}
)",
      parallel, devices, plan))));
}

std::int64_t parameters_of(const Program& program) {
  std::int64_t n = 0;
  for (const Param& param : program.params) n += param.size();
  return n;
}

TEST(ParallelBlock, OneNormALayer) {
  EXPECT_EQ(kLayers * kH,
            parameters_of(lowered(false, "tp: 1")) - parameters_of(lowered(true, "tp: 1")));
}

TEST(ParallelBlock, BytesKept) {
  // The norm's input, output and deviations; qkv, context, log(sum(exp)); fc1's output and its
  // activation. Not the sum after attention, nor a second norm's output.
  const std::int64_t of_token = 2 * 2 * kH + 4 + 2 * (kQkv + kH) + 4 * kHeads + 2 * 2 * kF;
  EXPECT_EQ(kT * of_token,
            saved_layer_bytes(lowered(true, "tp: 1").roles[0], 1, NormStats::counted));
}

std::int64_t sent_over_tp(const Program& program) {
  std::int64_t elements = 0;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.kind == OpKind::collective && op.layer == 1) elements += op.elements;
    }
  }
  return elements;
}

TEST(ParallelBlock, EachHalfIsReduced) {
  EXPECT_EQ(4 * kT * kH, sent_over_tp(lowered(true, "tp: 2", 2)));
}

}  // namespace
}  // namespace windtunnel::closed_form
