// What nanotron does that the plan's keys do not say (plan/frameworks/nanotron.cpp).

#include <gtest/gtest.h>

#include "models/cost/cost_model.h"
#include "plan/lower.h"
#include "plan/resolve.h"

namespace windtunnel {
namespace {

Scenario toy(int tp, ShardingKind sharding) {
  Scenario s;
  s.id = "toy";
  s.stack.framework = "nanotron v0.5-dev";
  s.stack.date = "2025-02";
  s.model.layers = 2;
  s.model.hidden = 16;
  s.model.heads = s.model.kv_heads = s.model.head_dim = 4;
  s.model.ffn = 24;
  s.model.bias = false;
  s.model.vocab = 32;
  s.model.activation = Activation::swiglu;
  s.model.norm = NormKind::rmsnorm;
  s.model.position = PositionKind::rope;
  s.cluster.device = "h100-sxm-80gb";
  s.cluster.nodes = 1;
  s.cluster.devices_per_node = 2 * tp;
  s.batch = {.global = 8, .micro = 2, .sequence = 8};
  s.plan.preset = Preset::nanotron;
  s.plan.tp = tp;
  s.plan.dp = 2;
  s.plan.sequence_parallel = tp > 1;
  s.plan.sharding.kind = sharding;
  return s;
}

std::int64_t host_operators(const Scenario& s) {
  const Program p = lower(resolve(s));
  std::int64_t n = 0;
  for (const Call& call : p.roles[0].calls) {
    const Segment& segment = p.segments[call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      if (p.ops[i].kind != OpKind::host_work) continue;
      const Shape& shape = p.shapes[p.ops[i].shape];
      if (shape.dims[0] == static_cast<std::int64_t>(HostItem::eager_op)) n += shape.dims[1];
    }
  }
  return n;
}

TEST(NanotronRules, ZeroOneReducesAfterBackwardAndDdpInIt) {
  EXPECT_TRUE(resolve(toy(1, ShardingKind::none)).plan.overlap_grad_reduce);
  EXPECT_FALSE(resolve(toy(1, ShardingKind::zero1)).plan.overlap_grad_reduce);
}

TEST(NanotronRules, ZeroOneGathersOneSlicePerParameterAndRank) {
  // Two operators for each of 2 ranks and each parameter: 6 a layer, embedding, head, last norm.
  const std::int64_t parameters = 2 * 6 + 3;
  EXPECT_EQ(
      host_operators(toy(1, ShardingKind::zero1)) - host_operators(toy(1, ShardingKind::none)),
      2 * 2 * parameters);
}

TEST(NanotronRules, PiecewiseLinearsDispatchMoreOperators) {
  // 2 layers of 2 micro-batches: 2 (18 - 6) + 2 (8 - 4) forward, 2 (20 - 10) + 2 (35 - 10)
  // backward.
  EXPECT_EQ(host_operators(toy(2, ShardingKind::none)) - host_operators(toy(1, ShardingKind::none)),
            2 * 2 * (32 + 70));
}

}  // namespace
}  // namespace windtunnel
