// Do experts in 8 bits keep, pad, move and take what the formulas of docs/experts.md say? T tokens,
// h hidden, kv the width of keys, E experts of width f, K of them for each token, R = T K rows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/cost/gemm_cost.h"
#include "models/cost/gemm_problem.h"
#include "models/cost/peak_rate.h"
#include "models/cost/profile.h"
#include "plan/lower.h"
#include "tests/closed_form/saved_tensors.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr std::int64_t kTokens = 4096, kHidden = 2048, kKeyValue = 512, kHeads = 32, kFfn = 768,
                       kExperts = 16, kTopK = 4, kRows = kTokens * kTopK;

struct ExpertPlan {
  const char* precision;
  const char* more = "";  // of model.moe
  int sequence = kTokens;
};

Program program_of(const ExpertPlan& p) {
  return lower_scenario(scenario_of(fmt::format(
                            R"(id: experts
stack: {{framework: megatron-core, date: 2026-01}}
model: {{layers: 2, hidden: 2048, ffn: 8192, heads: 32, kv_heads: 8, vocab: 32000,
        activation: swiglu, norm: rmsnorm, position: rope, bias: false,
        moe: {{experts: 16, top_k: 4, ffn: 768{more}}}}}
cluster: {{device: b200-sxm-180gb, devices_per_node: 2, nodes: 1}}
batch: {{global: 2, micro: 1, sequence: {sequence}}}
plan: {{preset: megatron, ep: 2, precision: {{{precision}}}}}
)",
                            fmt::arg("more", p.more), fmt::arg("sequence", p.sequence),
                            fmt::arg("precision", p.precision))))
      .program;
}

std::int64_t saved_by_a_layer(const ExpertPlan& p) {
  return saved_layer_bytes(program_of(p).roles[0], 0, NormStats::counted);
}

// The router and the permutation read the second norm, which stays wide; of the experts, the inputs
// of both products are a byte, and what the activation reads of them stays wide.
TEST(NarrowExperts, SavedActivations) {
  constexpr std::int64_t kRouting = kTokens * (4 * kExperts + 8 * kTopK) + 4 * kRows;
  constexpr std::int64_t kStats = 8 * kTokens + 4 * kHeads * kTokens;
  const std::int64_t common = kRouting + kStats + kRows * 4 * kFfn;
  const std::int64_t wide = kTokens * (12 * kHidden + 4 * kKeyValue) + kRows * 2 * (kHidden + kFfn);
  const std::int64_t narrow = kTokens * (12 * kHidden + 4 * kKeyValue) + kRows * (kHidden + kFfn);
  const std::int64_t scales = (kTokens * 2 * kHidden + kRows * (kHidden + kFfn)) / 32;
  expect_exact("bf16", common + wide, saved_by_a_layer({"compute: bf16"}));
  expect_exact("fp8 delayed", common + narrow, saved_by_a_layer({"compute: fp8"}));
  expect_exact("mxfp8", common + narrow + scales, saved_by_a_layer({"compute: mxfp8"}));
}

/// Ops of layer 0 with this kernel.
std::vector<Op> ops_of(const Program& program, Kernel kernel) {
  std::vector<Op> found;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::compute && op.layer == 0 && program.shapes[op.shape].kernel == kernel)
      found.push_back(op);
  }
  return found;
}

// Rows of an expert are 16 of this rank's tokens and 16 of the other's, but with a third more of
// them 22 and 22: padded to a multiple of 16 (fp8), 32 (mxfp8) or 128 (nvfp4).
TEST(NarrowExperts, RowsArePadded) {
  struct Row {
    const char* precision;
    const char* more;
    std::int64_t rows;
    std::size_t pads;  // forward: rows, their weights, and back; backward: the same
  };
  for (const Row& row :
       {Row{"compute: bf16", ", capacity_factor: 1.33", 44, 0}, Row{"compute: mxfp8", "", 32, 0},
        Row{"compute: fp8", ", capacity_factor: 1.33", 48, 6},
        Row{"compute: mxfp8", ", capacity_factor: 1.33", 64, 6},
        Row{"compute: nvfp4", ", capacity_factor: 1.33", 128, 6}}) {
    const Program p = program_of({row.precision, row.more, 64});
    const auto products = ops_of(p, Kernel::grouped_fwd);
    ASSERT_EQ(products.size(), 2u);
    expect_exact(row.precision, row.rows, p.shapes[products[0].shape].dims[0]);
    EXPECT_EQ(ops_of(p, Kernel::pad_groups).size(), row.pads) << row.precision << row.more;
  }
}

// Of eight experts each weight, and each one's rows: with scales known before by one kernel.
TEST(NarrowExperts, EachExpertHasScalesOfItsOwn) {
  constexpr std::int64_t kHeld = kExperts / 2;
  const Program tensorwise = program_of({"compute: fp8, fp8_recipe: tensorwise"});
  std::int64_t amaxes = 0, launches = 0;
  for (const Op& op : ops_of(tensorwise, Kernel::amax)) {
    amaxes += tensorwise.shapes[op.shape].dims[1];
    launches += op.launches;
  }
  // Attention: inputs, weights and gradients of two layers; experts: the same of two of each.
  expect_exact("amaxes of a layer", 6 + 6 * kHeld, amaxes);
  expect_exact("launches, two for each", 2 * amaxes, launches);
  const Program delayed = program_of({"compute: fp8"});
  std::vector<std::int64_t> reduced;
  for (const Op& op : delayed.ops) {
    if (op.kind == OpKind::collective && delayed.comms[op.comm].name == "amax")
      reduced.push_back(op.elements);
  }
  ASSERT_EQ(reduced.size(), 2u);
  expect_exact("forward, two layers", 2 * (4 + 4 * kHeld), reduced[0]);
  expect_exact("backward", 2 * (2 + 2 * kHeld), reduced[1]);
}

// All-to-alls of 16 bits, whatever multiplies.
TEST(NarrowExperts, RowsTravelWide) {
  const Program program = program_of({"compute: mxfp8"});
  int found = 0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::collective || op.collective != Collective::all_to_all) continue;
    if (op.elements == kRows) continue;  // probabilities
    EXPECT_EQ(op.dtype, Dtype::bf16);
    EXPECT_EQ(op.elements, kRows * kHidden);
    ++found;
  }
  EXPECT_EQ(found, 2 * 4);
}

// A grouped product that its arithmetic bounds takes the time of its type's peak and efficiency;
// the launch, and what a tile writes, take what they did.
TEST(NarrowExperts, ProductsTakeTheNarrowPeak) {
  const Profile profile = load_public_profile("b200-sxm-180gb");
  const auto times = [&](const char* precision, Kernel kernel) {
    const Program p = program_of({precision});
    const Shape& shape = p.shapes[ops_of(p, kernel)[0].shape];
    const GemmProblem problem = gemm_problems(shape)[0];
    GemmProblem deep = problem;  // the same outputs over twice the depth
    deep.k *= 2.0;
    return std::pair{problem, gemm_problem_cost(profile, deep).time.value -
                                  gemm_problem_cost(profile, problem).time.value};
  };
  const double faster = peak_rate(profile, Dtype::mxfp8).value *
                        profile.gemm.narrow.at(Dtype::fp8).value /
                        peak_rate(profile, Dtype::bf16).value;
  for (const Kernel kernel : {Kernel::grouped_fwd, Kernel::grouped_dgrad, Kernel::grouped_wgrad}) {
    const auto [narrow, narrow_time] = times("compute: mxfp8", kernel);
    const auto [wide, wide_time] = times("compute: bf16", kernel);
    EXPECT_EQ(narrow.dtype, Dtype::mxfp8);
    EXPECT_EQ(narrow.flops(), wide.flops());
    EXPECT_EQ(narrow.batch, kExperts / 2.0);
    fmt::print("{}: expected {} times as fast, got {}\n", name_of(kernel), faster,
               wide_time / narrow_time);
    EXPECT_NEAR(wide_time / narrow_time / faster, 1.0, 1e-9);
  }
}

}  // namespace
}  // namespace windtunnel::closed_form
