// Do products beside tensor-parallel transfers take what their closed forms say?
//
// One linear layer of a lowered scenario costs time, everything else none: its whole product g, its
// whole transfer x, t ranks, S ranges of output features.
//   gathered (forward of fc1, input gradient of fc2)   g/t + (t - 1) max(g/t, x/(t - 1))
//   scattered by columns (userbuffers, fc2)            g/S + (S - 1) max(g/S, x/S) + x/S
//   scattered by rows (symmetric memory, fc2)          g/t + (t - 1) max(g/t, x/(t - 1))
// The reference on parallelisms (section 4.1) has the first; the others follow from the same chain.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "plan/lower.h"
#include "plan/overlapped_linear.h"
#include "plan/resolve.h"
#include "program/collective_counts.h"
#include "sim/engine/simulate_step.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;
constexpr std::int64_t kHidden = 64, kFfn = 320, kRows = 96;  // f/t never h

struct OverlapCase {
  int ranks = 4;
  double product = 12.0;   // s, g
  double transfer = 12.0;  // s, x
  bool symmetric = false;
};

Program program_of(const OverlapCase& c) {
  const char* stack = c.symmetric ? "framework: torchtitan, date: 2025-06"
                                  : "framework: megatron-lm, date: 2025-06";
  return lower(resolve(scenario_of(fmt::format(
      R"(id: overlapped
stack: {{{}}}
model: {{name: one, layers: 1, hidden: {}, ffn: {}, heads: 8, vocab: 256, activation: gelu}}
cluster: {{device: h100-sxm-80gb, devices_per_node: {}, nodes: 1}}
batch: {{global: 1, micro: 1, sequence: {}}}
plan: {{tp: {}, sequence_parallel: true, overlap: {{tp: true}}}}
)",
      stack, kHidden, kFfn, c.ranks, kRows, c.ranks))));
}

/// The products and transfers of one layer's pass that cost time.
struct Costed {
  Phase phase = Phase::forward;
  Kernel kernel = Kernel::gemm_fwd;
  std::int64_t out = 0, in = 0;  // N and K of the whole product on a rank
};

/// Shares of a product by FLOP; shares of a transfer by elements. Transfers of the MLP in the same
/// phase that are not this layer's are told apart by their kind.
StepCosts costs_of(const Program& p, const OverlapCase& c, const Costed& layer, Collective kind,
                   double transferred) {
  StepCosts costs;
  costs.duration.assign(p.ops.size(), 0);
  costs.launch = {0};
  const double flops = static_cast<double>(kRows * layer.out * layer.in);
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const Op& op = p.ops[i];
    if (op.layer != 0 || op.phase != layer.phase || op.module != Module::mlp) continue;
    double seconds = 0.0;
    if (op.kind == OpKind::compute) {
      const Shape& s = p.shapes[op.shape];
      const bool ours = s.kernel == layer.kernel && s.dims[2] == layer.in;
      if (ours)
        seconds = c.product * static_cast<double>(s.dims[0] * s.dims[1] * s.dims[2]) / flops;
    } else if (op.kind == OpKind::collective && op.collective == kind) {
      seconds = c.transfer * static_cast<double>(op.elements) / transferred;
    }
    costs.duration[i] = static_cast<Picoseconds>(seconds * static_cast<double>(kSecond) + 0.5);
  }
  return costs;
}

void expect_time(const char* what, const OverlapCase& c, double expected, const Program& p,
                 const StepCosts& costs) {
  const double got =
      static_cast<double>(simulate_step(p, costs).step_time[0]) / static_cast<double>(kSecond);
  constexpr double kRounded = 1e-10;  // whole picoseconds of up to fifteen ops
  std::printf("%s, t %d, g %g, x %g: expected %.12g s, got %.12g s, deviation %.3g\n", what,
              c.ranks, c.product, c.transfer, expected, got, got - expected);
  EXPECT_NEAR(got, expected, kRounded) << what;
}

/// g/n + (n - 1) max(g/n, x/(n - 1))
double ring_formula(const OverlapCase& c) {
  const double n = c.ranks, share = c.product / n;
  return share + (n - 1) * std::max(share, c.transfer / (n - 1));
}

double columns_formula(const OverlapCase& c) {
  const double s = kSplits, product = c.product / s, transfer = c.transfer / s;
  return product + (s - 1) * std::max(product, transfer) + transfer;
}

void check(const OverlapCase& c) {
  const Program p = program_of(c);
  const double t = c.ranks;
  const double shared = static_cast<double>(kRows * kHidden) * (t - 1) / t;  // by the ring's hops
  // Forward of fc1: in symmetric memory fc2's partial sums are shifts too, of a whole rank's rows.
  if (!c.symmetric) {
    expect_time(
        "gathered forward", c, ring_formula(c), p,
        costs_of(p, c, {.out = kFfn / c.ranks, .in = kHidden}, Collective::ring_shift, shared));
    expect_time("scattered by columns", c, columns_formula(c), p,
                costs_of(p, c, {.out = kHidden, .in = kFfn / c.ranks}, Collective::reduce_scatter,
                         static_cast<double>(kRows * kHidden)));
  }
  expect_time("gathered backward", c, ring_formula(c), p,
              costs_of(p, c,
                       {.phase = Phase::backward,
                        .kernel = Kernel::gemm_dgrad,
                        .out = kHidden,
                        .in = kFfn / c.ranks},
                       Collective::ring_shift, shared));
}

TEST(TensorParallelOverlap, TransfersHideBehindProducts) {
  for (const int ranks : {2, 4, 8}) check({.ranks = ranks, .product = 12.0, .transfer = 3.0});
}

TEST(TensorParallelOverlap, LongTransfersAreExposed) {
  for (const int ranks : {2, 4, 8}) check({.ranks = ranks, .product = 8.0, .transfer = 24.0});
}

TEST(TensorParallelOverlap, SymmetricMemoryGathersInTheSameTime) {
  for (const double transfer : {3.0, 24.0}) {
    for (const int ranks : {2, 4, 8})
      check({.ranks = ranks, .product = 12.0, .transfer = transfer, .symmetric = true});
  }
}

/// Hops of fc1's rows cost nothing, those of fc2's partial sums do: told apart by what comes
/// before.
TEST(TensorParallelOverlap, PartialSumsHideBehindProducts) {
  for (const double transfer : {3.0, 24.0}) {
    const OverlapCase c{.ranks = 4, .product = 12.0, .transfer = transfer, .symmetric = true};
    const Program p = program_of(c);
    StepCosts costs = costs_of(p, c, {.out = kHidden, .in = kFfn / c.ranks}, Collective::ring_shift,
                               kRows * kHidden * 3.0 / 4.0);
    int gathered = 0;
    for (std::size_t i = 0; i < p.ops.size() && gathered < c.ranks - 1; ++i) {
      const Op& op = p.ops[i];
      const bool hop = op.kind == OpKind::collective && op.collective == Collective::ring_shift;
      if (!hop || op.phase != Phase::forward || op.module != Module::mlp) continue;
      costs.duration[i] = 0;
      ++gathered;
    }
    expect_time("scattered by rows", c, ring_formula(c), p, costs);
  }
}

/// The same bytes travel as without overlap, and the same FLOP are computed.
TEST(TensorParallelOverlap, TransfersTheSameRows) {
  const Program p = program_of({.ranks = 4});
  const CollectiveCounts forward =
      count_collectives(p, 0, {.comm = "tp", .phase = Phase::forward, .layer = 0});
  const CollectiveCount hops = forward.sum(Collective::ring_shift);
  EXPECT_EQ(hops.count, 2 * 3);  // before qkv and fc1
  EXPECT_EQ(hops.elements, 2 * kRows * kHidden * 3 / 4);
  const CollectiveCount ranges = forward.sum(Collective::reduce_scatter);
  EXPECT_EQ(ranges.count, 2 * kSplits);
  EXPECT_EQ(ranges.elements, 2 * kRows * kHidden);
}

}  // namespace
}  // namespace windtunnel::closed_form
