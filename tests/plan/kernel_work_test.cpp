// How much lowered ops move, in what they multiply, and what the loss reduces.

#include <gtest/gtest.h>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "program/mesh.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

Program lowered(const std::string& plan) {
  const std::string text =
      "model: {layers: 2, hidden: 64, ffn: 256, heads: 8, vocab: 1000}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 2, nodes: 1}\n"
      "batch: {global: 2, micro: 1, sequence: 32}\n"
      "plan: " +
      plan + "\n";
  return lower(resolve(load_scenarios_text(text, "test.yaml").scenarios.front()));
}

/// Bytes that the optimizer's kernels move for each element they update.
double bytes_per_parameter(const std::string& plan, Kernel kernel) {
  const Program program = lowered(plan);
  double bytes = 0, elements = 0;
  for (const Shape& shape : program.shapes) {
    if (shape.kernel != kernel) continue;
    constexpr std::int64_t kCoefficient = 4;
    bytes += static_cast<double>(shape.bytes_read + shape.bytes_written - kCoefficient);
    elements += static_cast<double>(shape.dims[0]);
  }
  return bytes / elements;
}

// fp32 gradient, master copy and two moments read, the last three and the bf16 weight written.
TEST(OptimizerTraffic, ThirtyBytesWithAMasterCopy) {
  EXPECT_DOUBLE_EQ(bytes_per_parameter("{tp: 2}", Kernel::adamw), 16 + 14);
  EXPECT_DOUBLE_EQ(bytes_per_parameter("{tp: 2, optimizer: sgd}", Kernel::sgd), 8 + 6);
}

// Without one the weights are read and written once.
TEST(OptimizerTraffic, WeightsWithoutAMasterCopyAreWrittenOnce) {
  const std::string fp32 = "precision: {compute: fp32}";
  EXPECT_DOUBLE_EQ(bytes_per_parameter("{tp: 2, " + fp32 + "}", Kernel::adamw), 16 + 12);
  EXPECT_DOUBLE_EQ(bytes_per_parameter("{tp: 2, optimizer: sgd, " + fp32 + "}", Kernel::sgd),
                   8 + 4);
}

TEST(Residual, OneLaunchIsOneFusedKernel) {
  const std::string text =
      "model: {layers: 2, hidden: 64, ffn: 256, heads: 8, vocab: 1000, dropout: true}\n"
      "cluster: {device: a100-sxm-80gb, devices_per_node: 2, nodes: 1}\n"
      "batch: {global: 2, micro: 1, sequence: 32}\n"
      "plan: {preset: megatron, tp: 2}\n";
  const Program program = lower(resolve(load_scenarios_text(text, "test.yaml").scenarios.front()));
  int found = 0;
  for (const Shape& shape : program.shapes) {
    if (shape.kernel != Kernel::dropout_add) continue;
    ++found;
    EXPECT_NE(shape.attr & kFused, 0);
  }
  EXPECT_EQ(found, 2);  // behind attention and behind the MLP
}

TEST(Tf32, IsHowProductsMultiplyAndNotHowTensorsAreStored) {
  const Program program = lowered("{tp: 2, precision: {compute: tf32}}");
  for (const Shape& shape : program.shapes) {
    const bool product = row_of(shape.kernel).cls == KernelClass::gemm;
    EXPECT_EQ(shape.in == Dtype::tf32, product);
    EXPECT_NE(shape.out, Dtype::tf32);
  }
  for (const Slot& slot : program.roles.front().slots) EXPECT_NE(slot.dtype, Dtype::tf32);
}

/// Elements of the all-reduces of the loss over tp, in order, for one micro-batch.
std::vector<std::int64_t> loss_reductions(const std::string& plan) {
  const Program program = lowered(plan);
  std::vector<std::int64_t> elements;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::collective && op.module == Module::loss &&
        program.comms[op.comm].axes == kAxisTp) {
      elements.push_back(op.elements);
    }
  }
  return elements;
}

// One number per token: the largest logit, the target's, the sum of exponentials; a fused loss
// reduces the last two at once.
TEST(CrossEntropy, ReductionsOverTp) {
  EXPECT_EQ(loss_reductions("{tp: 2}"), (std::vector<std::int64_t>{32, 32, 32}));
  EXPECT_EQ(loss_reductions("{tp: 2, logits: {cross_entropy: fused}}"),
            (std::vector<std::int64_t>{32, 64}));
}

/// Ops run again in backward, of one micro-batch: products, gathers and scatters over tp.
struct RunAgain {
  int products = 0, gathers = 0, scatters = 0;
  friend bool operator==(const RunAgain&, const RunAgain&) = default;
};

RunAgain run_again(const std::string& module) {
  const Program program = lowered(
      "{tp: 2, sequence_parallel: true, recompute: {kind: selective, modules: [" + module + "]}}");
  RunAgain again;
  for (const Op& op : program.ops) {
    if (!op.recompute) continue;
    if (op.kind == OpKind::collective) {
      again.gathers += op.collective == Collective::all_gather;
      again.scatters += op.collective == Collective::reduce_scatter;
    } else if (op.kind == OpKind::compute) {
      again.products += row_of(program.shapes[op.shape].kernel).cls == KernelClass::gemm;
    }
  }
  return again;
}

// A checkpointed module runs its whole forward again, both linears and their transfers (Megatron,
// core/tensor_parallel/random.py); one output alone takes only what makes it. Two layers.
TEST(Recompute, AModuleRunsItsWholeForwardAgain) {
  EXPECT_EQ(run_again("mlp"), (RunAgain{2 * 2, 2, 2}));
  EXPECT_EQ(run_again("attention"), (RunAgain{2 * 2, 2, 2}));
  EXPECT_EQ(run_again("core_attention"), (RunAgain{}));
  EXPECT_EQ(run_again("activation"), (RunAgain{}));
}

}  // namespace
}  // namespace windtunnel
