// Does context parallelism send and hide what its closed forms say?
//
// Payloads are read from lowered scenarios. Times are of one layer on device `unit`: C ranks in a
// ring, attention of a block a forward and b backward, a hop h, the layer's own f and b':
//   forward   f + (C - 1) max(a, h) + a
//   backward  b' + 2 max(b, h) + (C - 2) max(b, 2h) + h       beside attention
// (keys and values travel C - 1 times, their gradients C times, behind them on one stream; the last
// of these hides nothing). On the compute stream every hop adds up: C a + (C - 1) h and
// C b + (2C - 1) h.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "models/cost/attention_cost.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "program/collective_counts.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;  // whole picoseconds, printed as seconds

void expect_number(const std::string& what, double expected, double got, double within = 0.0) {
  std::printf("%s: expected %.12g, got %.12g, deviation %.3g\n", what.c_str(), expected, got,
              got - expected);
  EXPECT_NEAR(got, expected, within) << what;
}

/// Llama-3-70B on eight ranks that share a sequence of 131072 tokens.
Program llama3_70b(const std::string& plan) {
  return lower(resolve(scenario_of(fmt::format(R"(id: long
model: llama3-70b
cluster: {{device: h100-sxm-80gb, devices_per_node: 8, nodes: 1}}
batch: {{global: 1, micro: 1, sequence: 131072}}
plan: {{{}}}
)",
                                               plan))));
}

CollectiveCounts of_layer(const Program& program, Phase phase) {
  return count_collectives(program, 0, {.comm = "cp", .phase = phase, .layer = 3});
}

TEST(ContextParallel, Oracle_O_079_hops_of_a_ring) {
  const Program program = llama3_70b("cp: 8, cp_kind: ring");
  const CollectiveCount hops = of_layer(program, Phase::forward).sum(Collective::ring_shift);
  expect_number("O-079 hops", 7, static_cast<double>(hops.count));
  expect_number("O-079 bytes of one", 67'108'864,
                static_cast<double>(hops.bytes) / static_cast<double>(hops.count));
  expect_number("O-079 bytes of all", 469'762'048, static_cast<double>(hops.bytes));
  // Keys and values again, and the gradients of both in fp32, one hop more.
  const CollectiveCount back = of_layer(program, Phase::backward).sum(Collective::ring_shift);
  expect_number("hops backward", 15, static_cast<double>(back.count));
  expect_number("bytes backward", 7 * 67'108'864.0 + 8 * 134'217'728.0,
                static_cast<double>(back.bytes));
}

TEST(ContextParallel, TransformerEngineAddsUpInTheActivationsType) {
  const Program program = llama3_70b("cp: 8, cp_kind: ring, preset: megatron");
  const CollectiveCount back = of_layer(program, Phase::backward).sum(Collective::ring_shift);
  expect_number("bytes backward", 15 * 67'108'864.0, static_cast<double>(back.bytes));
}

TEST(ContextParallel, Oracle_O_080_exchange_of_heads) {
  const Program program = llama3_70b("cp: 8, cp_kind: ulysses");
  std::map<std::int64_t, int> bytes;  // of one all-to-all: how many
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::collective || op.collective != Collective::all_to_all) continue;
    if (op.layer == 3 && op.phase == Phase::forward) ++bytes[bytes_of(op.dtype, op.elements)];
  }
  ASSERT_EQ(bytes.size(), 2U);
  expect_number("O-080 k and v", 33'554'432, static_cast<double>(bytes.begin()->first));
  expect_number("O-080 of them", 2, bytes.begin()->second);
  expect_number("O-080 q and out", 268'435'456, static_cast<double>(bytes.rbegin()->first));
  expect_number("O-080 of them", 2, bytes.rbegin()->second);
  const CollectiveCount back = of_layer(program, Phase::backward).sum(Collective::all_to_all);
  expect_number("all-to-alls backward", 4, static_cast<double>(back.count));
}

TEST(ContextParallel, GatheredKeysAndTheirGradients) {
  const Program program = llama3_70b("cp: 8, cp_kind: all_gather");
  const double whole = 2.0 * 131072 * 1024 * 2;  // 2 b s kv e
  const CollectiveCounts forward = of_layer(program, Phase::forward);
  expect_number("gathered forward", whole,
                static_cast<double>(forward.sum(Collective::all_gather).bytes));
  const CollectiveCounts back = of_layer(program, Phase::backward);
  expect_number("gathered backward", whole,
                static_cast<double>(back.sum(Collective::all_gather).bytes));
  expect_number("scattered backward", whole,
                static_cast<double>(back.sum(Collective::reduce_scatter).bytes));
}

double attention_of(const Program& program) {
  double flops = 0.0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::compute) continue;
    const Shape& shape = program.shapes[op.shape];
    if (row_of(shape.kernel).cls == KernelClass::attention) flops += attention_flops(shape);
  }
  return flops;
}

TEST(ContextParallel, RanksShareOneDevicesAttention) {
  const double whole = attention_of(llama3_70b("dp: auto, tp: 8"));
  for (const char* kind : {"ring", "all_gather", "ulysses", "ulysses+ring"}) {
    // tp shares the heads of one device out among eight, cp its sequence.
    const double got = attention_of(llama3_70b(fmt::format("cp: 8, cp_kind: {}", kind)));
    expect_number(fmt::format("attention FLOP of {}", kind), whole, got, whole * 1e-12);
  }
}

struct RingCase {
  int ranks = 4;
  double hop = 0.5;                                  // s
  double forward = 1.0, backward = 2.0;              // s, the layer's own
  double block_forward = 1.0, block_backward = 2.0;  // s
  bool overlaps = true;
};

StepReport step_of(const RingCase& c) {
  return simulate(scenario_of(fmt::format(
                      R"(id: ring
model: {model}
cluster:
  device: unit
  devices_per_node: {ranks}
  nodes: 1
  unit: {{layer: {{F: "{f} s", B: "{b} s"}}, attention: {{F: "{af} s", B: "{ab} s"}}, hop: "{h} s"}}
batch: {{global: 1, micro: 1, sequence: 64}}
plan: {{cp: {ranks}, cp_kind: ring, overlap: {{cp: {overlaps}}}}}
)",
                      fmt::arg("model", small_model(1)), fmt::arg("ranks", c.ranks),
                      fmt::arg("f", c.forward), fmt::arg("b", c.backward),
                      fmt::arg("af", c.block_forward), fmt::arg("ab", c.block_backward),
                      fmt::arg("h", c.hop), fmt::arg("overlaps", c.overlaps))),
                  {.draws = 0})
      .report;
}

double formula(const RingCase& c) {
  const double n = c.ranks, h = c.hop, a = c.block_forward, b = c.block_backward;
  if (!c.overlaps) return c.forward + c.backward + n * (a + b) + (3 * n - 2) * h;
  return c.forward + (n - 1) * std::max(a, h) + a + c.backward + 2 * std::max(b, h) +
         (n - 2) * std::max(b, 2 * h) + h;
}

void expect_step(const char* name, const RingCase& c, double exposed) {
  const StepReport report = step_of(c);
  expect_number(name, formula(c), report.step_time_s, kPicosecond);
  expect_number(std::string(name) + ", exposed", exposed, report.breakdown.exposed_comm.cp,
                10 * kPicosecond);
}

TEST(RingTime, HopsHideBehindHalfBlocks) {
  expect_step("hop 0.5", {.hop = 0.5}, 0.5);  // the last gradients' hop
  expect_step("hop as long as a block", {.hop = 1.0}, 1.0);
  expect_step("two ranks", {.ranks = 2, .hop = 0.5}, 0.5);
}

TEST(RingTime, LongHopsAreExposed) {
  // Forward 3 (1.5 - 1); backward 2 (3 - 2) where both travel, and the last hop.
  expect_step("hop 1.5", {.hop = 1.5}, 1.5 + 2.0 + 1.5);
  expect_step("hop 3", {.hop = 3.0}, 6.0 + 2 * 1.0 + 2 * 4.0 + 3.0);
}

TEST(RingTime, BlockingHopsAddUp) {
  expect_step("blocking", {.hop = 0.5, .overlaps = false}, 5.0);
}

}  // namespace
}  // namespace windtunnel::closed_form
