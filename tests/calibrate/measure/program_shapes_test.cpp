// Is everything listed that a simulation prices, and the dearest first?

#include "calibrate/measure/program_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/calibrate/measure/programs.h"

namespace windtunnel {
namespace {

bool holds(const ProgramShapes& listed, const Shape& shape) {
  return std::any_of(listed.kernels.begin(), listed.kernels.end(),
                     [&](const ShapeUse& use) { return use.shape == shape; });
}

TEST(ProgramShapes, HoldEveryKernelOnce) {
  for (const Program& program : many_programs()) {
    const ProgramShapes listed = list_shapes(program);
    std::size_t expected = 0;
    for (std::uint32_t i = 0; i < program.shapes.size(); ++i) {
      const bool used = std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
        return op.kind == OpKind::compute && op.shape == i;
      });
      expected += used ? 1 : 0;
      EXPECT_TRUE(!used || holds(listed, program.shapes[i]));
    }
    EXPECT_EQ(listed.kernels.size(), expected);
    for (std::size_t i = 1; i < listed.kernels.size(); ++i) {
      EXPECT_GE(listed.kernels[i - 1].rough_seconds, listed.kernels[i].rough_seconds);
    }
    EXPECT_GT(listed.touched_bytes, 0);
  }
}

TEST(ProgramShapes, CountTheRunsOfAStep) {
  // Two stages of two layers, four micro-batches of two: one fc1 product a layer and micro-batch.
  const Program program = lowered("activation: gelu", "pp: 2, schedule: {kind: 1f1b}", 2);
  const ProgramShapes listed = list_shapes(program);
  bool found = false;
  for (const ShapeUse& use : listed.kernels) {
    const Shape& s = use.shape;
    if (s.kernel != Kernel::gemm_fwd || s.dims[1] != 64 || s.dims[2] != 32) continue;
    EXPECT_EQ(use.runs, 2 * 4);
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(ProgramShapes, TransfersNameTheirRanks) {
  const ProgramShapes pipeline =
      list_shapes(lowered("activation: gelu", "pp: 2, schedule: {kind: 1f1b}", 2));
  const auto hop = std::find_if(pipeline.transfers.begin(), pipeline.transfers.end(),
                                [](const TransferUse& t) { return t.kind == CommKind::send_recv; });
  ASSERT_NE(hop, pipeline.transfers.end());
  EXPECT_EQ(hop->groups, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(hop->bytes(), 4 * 2 * 16 * 32);
  EXPECT_EQ(hop->runs, 4);

  const ProgramShapes tensor = list_shapes(lowered("activation: gelu", "tp: 2", 2));
  EXPECT_TRUE(std::any_of(tensor.transfers.begin(), tensor.transfers.end(), [](const auto& t) {
    return t.kind == CommKind::all_reduce && t.ranks() == 2 && t.bytes() == 4 * 2 * 16 * 32;
  }));
  EXPECT_TRUE(list_shapes(lowered("activation: gelu", "tp: 1", 1)).transfers.empty());
}

PartPlace part_of(const char* plan, CommKind kind) {
  const ProgramShapes listed = list_shapes(lowered("activation: gelu", plan, 2));
  const auto found = std::find_if(listed.transfers.begin(), listed.transfers.end(),
                                  [&](const TransferUse& t) { return t.kind == kind; });
  EXPECT_NE(found, listed.transfers.end());
  EXPECT_EQ(found->touched_bytes, listed.touched_bytes);
  return found->part;
}

TEST(ProgramShapes, TransfersSayWhereTheirPartsLie) {
  // ZeRO-1 gathers weights into the buffer that its shard is part of; a sharded layer lies apart.
  constexpr auto kGather = CommKind::all_gather, kScatter = CommKind::reduce_scatter;
  EXPECT_EQ(part_of("dp: 2, sharding: {kind: zero1}", kGather), PartPlace::inside);
  EXPECT_EQ(part_of("dp: 2, sharding: {kind: fsdp}", kGather), PartPlace::old);
  EXPECT_EQ(part_of("dp: 2, sharding: {kind: fsdp}", kScatter), PartPlace::old);
  EXPECT_EQ(part_of("tp: 2, sequence_parallel: true", kGather), PartPlace::recent);
  EXPECT_EQ(part_of("tp: 2, sequence_parallel: true", kScatter), PartPlace::recent);
}

}  // namespace
}  // namespace windtunnel
