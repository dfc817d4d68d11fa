// Does a lowered program run the matrix products the formulas count? FLOPs summed over the ops of a
// step, from their shapes: a product (M, K) x (K, N) is 2 M K N; core attention is charged for the
// causal half where the oracle is.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/cost/attention_cost.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kRounding = 1e-12;  // quotients of sums exact in doubles
constexpr double kPrinted = 1e-9;    // the oracle is stated to ten digits
constexpr double kPrinted8 = 1e-7;   // ... to eight digits of a percentage

struct StepFlops {
  double forward = 0, backward = 0, recompute = 0;  // layers
  double head = 0;                                  // forward and backward

  double layers() const { return forward + backward; }
};

/// Products of core attention: 2 b s s a d each.
double attention_product(const Shape& s) {
  return 2.0 * static_cast<double>(s.dims[0]) * static_cast<double>(s.dims[1]) *
         static_cast<double>(s.dims[1]) * static_cast<double>(s.dims[2]) *
         static_cast<double>(s.dims[4]);
}

/// FLOPs a kernel counts for in the formulas: a flash backward that redoes the scores counts as 4
/// products.
double flops_of(const Shape& s) {
  switch (s.kernel) {
    case Kernel::gemm_fwd:
    case Kernel::gemm_dgrad:
    case Kernel::gemm_wgrad:
      return 2.0 * static_cast<double>(s.dims[0]) * static_cast<double>(s.dims[1]) *
             static_cast<double>(s.dims[2]);
    case Kernel::flash_fwd:  // causal: half of two products
    case Kernel::scores_fwd:
    case Kernel::context_fwd:
      return attention_product(s);
    case Kernel::flash_bwd:
    case Kernel::scores_bwd:
    case Kernel::context_bwd:
      return 2.0 * attention_product(s);
    default:
      return 0.0;
  }
}

bool is_gemm(Kernel kernel) {
  return kernel == Kernel::gemm_fwd || kernel == Kernel::gemm_dgrad || kernel == Kernel::gemm_wgrad;
}

enum class Count : std::uint8_t { all, gemms };

StepFlops step_flops(const Program& program, Count count = Count::all) {
  StepFlops sum;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.kind != OpKind::compute) continue;
      const Shape& shape = program.shapes[op.shape];
      if (count == Count::gemms && !is_gemm(shape.kernel)) continue;
      double& row = op.layer < 0                 ? sum.head
                    : op.recompute               ? sum.recompute
                    : op.phase == Phase::forward ? sum.forward
                                                 : sum.backward;
      row += flops_of(shape);
    }
  }
  return sum;
}

Program program_of(const std::string& model, std::int64_t sequence, const std::string& plan) {
  return lower_scenario(scenario_of(fmt::format(
                            R"(id: flops
model: {}
cluster: {{device: unit, devices_per_node: 1, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: 1, micro: 1, sequence: {}}}
plan: {{{}}}
)",
                            model, sequence, plan)))
      .program;
}

// Four layers in turn see 1024 of 8192 keys (960 on average), two all of them (4096 on average).
TEST(StepFlops, WindowsBoundTheLoweredAttention) {
  const std::string model =
      "{name: turns, layers: 6, hidden: 1024, ffn: 2816, heads: 8, vocab: 1024, activation: "
      "swiglu, sliding_window: 1024, layer_pattern: [sliding, sliding, full]}";
  double flops = 0.0;
  const Program program = program_of(model, 8192, "");
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::compute && program.shapes[op.shape].kernel == Kernel::flash_fwd)
      flops += attention_flops(program.shapes[op.shape]);
  }
  expect_relative("windows", 4.0 * 1024 * 8192 * (4 * 960.0 + 2 * 4096.0), flops, kRounding);
}

TEST(StepFlops, Oracle_O_028_backward_of_the_lowered_products) {
  const StepFlops f = step_flops(program_of("llama3-8b", 8192, ""), Count::gemms);
  expect_relative("O-028", 2.0, f.backward / f.forward, kRounding);
}

TEST(StepFlops, Oracle_O_029_full_recompute_of_the_lowered_products) {
  const StepFlops f =
      step_flops(program_of("llama3-8b", 8192, "recompute: {kind: full}"), Count::gemms);
  expect_relative("O-029", 4.0 / 3.0, (f.layers() + f.recompute) / f.layers(), kRounding);
}

TEST(StepFlops, Oracle_O_030_full_recompute_of_a_lowered_step) {
  const StepFlops f = step_flops(program_of("llama3-8b", 8192, "recompute: {kind: full}"));
  const double plain = f.layers() + f.head;
  expect_relative("O-030", 1.3129201810, (plain + f.recompute) / plain, kPrinted);
  expect_relative("O-023 from the program", 51'470'401'536.0, plain / 8192, kRounding);
}

TEST(StepFlops, Oracle_O_031_selective_recompute_of_a_lowered_step) {
  const std::string gpt3 =
      "{name: gpt3, layers: 2, hidden: 12288, ffn: 49152, heads: 96, vocab: 51200, "
      "activation: gelu, dropout: true}";
  const StepFlops f = step_flops(program_of(
      gpt3, 2048, "attention: unfused, recompute: {kind: selective, modules: [core_attention]}"));
  expect_relative("O-031", 0.009009009009, f.recompute / f.layers(), kPrinted8);
}

}  // namespace
}  // namespace windtunnel::closed_form
