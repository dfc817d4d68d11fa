// What offloading takes and saves. f: fraction of the optimizer in the host's memory.
//
// Bytes per parameter, bf16 weights, fp32 gradients, master weights and moments: on the device
// 18 - 12 f, on the host f (4 gradients + 12 + 2 weights on their way back).
//
// Time, K buckets of one layer each on device `unit`, a layer's backward B; a, s, c: a bucket's
// copy to the host, the host's step, the copy back:
//   without overlap  T = K B + K (a + s + c)
//   with it          T = max(K B + a, B + K a) + s + max((K - 1) s, (K - 1) c) + c
// (gradients leave behind each layer's backward; the host begins when the last is there, for the
// clip coefficient comes behind it).
//
// Activations of the first n of L layers, a and c now a layer's copies out and back, F and B its
// passes: hidden behind the next layer's forward while a <= F, and behind its backward while c <=
// B; else exposed by the difference,
//   T = L (F + B) + n max(0, a - F) + n max(0, c - B)        n < L
// A shard's copy in front of its gather makes the gather so much longer.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/architectures/parameters.h"
#include "sim/memory/host_memory.h"
#include "sim/memory/replay.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kRelative = 1e-12;  // whole picoseconds of tens of seconds
constexpr int kLayers = 10;
constexpr double kBackward = 2.0;  // s

struct OptimizerCase {
  double to_host = 0, step = 0, to_device = 0;  // s, of a bucket
  bool overlap = true;
};

// As in overlap_test.cpp: one element more than a layer has, so that buckets are ready with layers.
constexpr std::int64_t kHidden = 64, kFfn = 512, kVocab = 512;
constexpr std::int64_t kOneBucketPerLayer =
    2 * kFfn * kHidden + kFfn + 4 * kHidden * kHidden + 9 * kHidden + 1;

double step_time(const OptimizerCase& c) {
  const Scenario scenario = scenario_of(fmt::format(
      R"(id: offload
model: {{name: ten, layers: {layers}, hidden: {h}, ffn: {f}, heads: 4, vocab: {v}, norm: layernorm,
        activation: gelu, position: rope}}
cluster:
  device: unit
  devices_per_node: 1
  nodes: 1
  unit: {{layer: {{F: "0 s", B: "{b} s"}},
         offload: {{to_host: "{a} s", host: "{s} s", to_device: "{c} s"}}}}
batch: {{global: 1, micro: 1, sequence: 32}}
plan:
  sharding: {{overlap_grad_reduce: true, bucket: {bucket}}}
  offload: {{optimizer: 1.0, overlap: {overlap}}}
)",
      fmt::arg("layers", kLayers), fmt::arg("h", kHidden), fmt::arg("f", kFfn),
      fmt::arg("v", kVocab), fmt::arg("b", kBackward), fmt::arg("a", c.to_host),
      fmt::arg("s", c.step), fmt::arg("c", c.to_device), fmt::arg("bucket", kOneBucketPerLayer),
      fmt::arg("overlap", c.overlap)));
  return simulate_unit(scenario).report.step_time_s;
}

double formula(const OptimizerCase& c) {
  constexpr double k = kLayers;
  if (!c.overlap) return k * kBackward + k * (c.to_host + c.step + c.to_device);
  const double arrived = std::max(k * kBackward + c.to_host, kBackward + k * c.to_host);
  return arrived + c.step + (k - 1) * std::max(c.step, c.to_device) + c.to_device;
}

TEST(OffloadedOptimizer, TakesTheFormulasTime) {
  for (const OptimizerCase& c :
       {OptimizerCase{1, 3, 2, false}, OptimizerCase{1, 3, 2}, OptimizerCase{1, 2, 3},
        OptimizerCase{5, 3, 2}, OptimizerCase{2, 0.5, 0.25}, OptimizerCase{0, 0, 0}}) {
    const std::string name =
        fmt::format("a {} s {} c {}, overlap {}", c.to_host, c.step, c.to_device, c.overlap);
    expect_relative(name.c_str(), formula(c), step_time(c), kRelative);
  }
}

Lowered lowered(const std::string& plan) {
  return lower_scenario(scenario_of(fmt::format(R"(id: states
model: {}
cluster: {{device: unit, devices_per_node: 1, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: 1, micro: 1, sequence: 32}}
plan: {{{}}}
)",
                                                small_model(2), plan)));
}

std::int64_t static_device_bytes(const Role& role) {
  std::int64_t bytes = 0;
  for (const Slot& slot : role.slots) {
    const bool kept = slot.space == Space::statics && slot.parent == kNone && !slot.host;
    if (kept && slot.category != Category::scalars) bytes += slot.bytes();
  }
  return bytes;
}

TEST(OffloadedOptimizer, LeavesTheDeviceByTheFraction) {
  for (const double f : {0.25, 0.5, 1.0}) {
    const Lowered l = lowered(fmt::format("offload: {{optimizer: {}}}", f));
    const std::int64_t p =
        count_parameters(l.resolved.scenario.model, l.resolved.plan.vocab_padded).total();
    ASSERT_EQ(p % 4, 0) << "fractions are of whole elements";
    const Role& role = l.program.roles[0];
    const auto n = static_cast<double>(p);
    expect_relative(fmt::format("device, f {}", f).c_str(), (18 - 12 * f) * n,
                    static_cast<double>(static_device_bytes(role)), 0.0);
    constexpr double kScalars = 4;  // the clip coefficient
    expect_relative(fmt::format("host, f {}", f).c_str(), 18 * f * n + kScalars,
                    static_cast<double>(peak_host_bytes(l.program, role)), 0.0);
  }
}

// The same through the allocator's replay: what it hands out falls by 12 f, to its rounding.
TEST(OffloadedOptimizer, LeavesTheAllocatorsPeak) {
  const Lowered all = lowered(""), half = lowered("offload: {optimizer: 0.5}");
  const std::int64_t p =
      count_parameters(all.resolved.scenario.model, all.resolved.plan.vocab_padded).total();
  const auto peak = [](const Lowered& l) { return replay_memory(l.program, 0, {}).peak.allocated; };
  constexpr std::int64_t kRounding = 3 * 512;  // of the master weights and two moments
  EXPECT_NEAR(static_cast<double>(peak(all) - peak(half)), 6.0 * static_cast<double>(p), kRounding);
}

struct ActivationCase {
  int offloaded = 0;  // of kLayers
  double forward = 1, backward = 2, to_host = 0, to_device = 0;
};

Scenario activation_scenario(int layers, const ActivationCase& c) {
  return scenario_of(fmt::format(
      R"(id: activations
model: {model}
cluster:
  device: unit
  devices_per_node: 1
  nodes: 1
  unit: {{layer: {{F: "{f} s", B: "{b} s"}}, offload: {{to_host: "{a} s", to_device: "{c} s"}}}}
batch: {{global: 1, micro: 1, sequence: 32}}
plan: {{offload: {{activations: {fraction}}}}}
)",
      fmt::arg("model", small_model(layers)), fmt::arg("f", c.forward), fmt::arg("b", c.backward),
      fmt::arg("a", c.to_host), fmt::arg("c", c.to_device),
      fmt::arg("fraction", static_cast<double>(c.offloaded) / layers)));
}

TEST(OffloadedActivations, AreHiddenOrExposedByTheDifference) {
  for (const ActivationCase& c :
       {ActivationCase{0}, ActivationCase{5, 1, 2, 1, 2}, ActivationCase{5, 1, 2, 1.25, 2},
        ActivationCase{9, 1, 2, 0.5, 2.5}, ActivationCase{7, 1, 2, 3, 4}}) {
    const double n = c.offloaded;
    const double expected = kLayers * (c.forward + c.backward) +
                            n * std::max(0.0, c.to_host - c.forward) +
                            n * std::max(0.0, c.to_device - c.backward);
    const double got = simulate_unit(activation_scenario(kLayers, c)).report.step_time_s;
    const std::string name = fmt::format("{} of {} layers, a {} F {}, c {} B {}", c.offloaded,
                                         kLayers, c.to_host, c.forward, c.to_device, c.backward);
    expect_relative(name.c_str(), expected, got, kRelative);
  }
}

/// Bytes that a micro-batch keeps on the device from forward to backward.
std::int64_t kept_on_device(const Program& program) {
  std::int64_t bytes = 0;
  for (const Slot& slot : program.roles[0].slots) {
    if (slot.space == Space::frame && slot.parent == kNone && !slot.host) bytes += slot.bytes();
  }
  return bytes;
}

// Llama, s tokens of width h, f wide, q query and kv key columns, bf16 without recomputation and
// with flash attention: input, norm1, qkv, context, residual1, norm2, gate and up, activation of
// two bytes, both norms' statistics and the log-sum-exps of a heads of four.
TEST(OffloadedActivations, AreWhatALayerKeeps) {
  constexpr std::int64_t kTokens = 32, kWidth = 64, kFeedForward = 128, kHeads = 4,
                         kKeyColumns = 32;
  constexpr std::int64_t kLayer =
      kTokens *
      (2 * (5 * kWidth + (kWidth + 2 * kKeyColumns) + 3 * kFeedForward) + 4 * (2 + kHeads));
  const Program all = lower_scenario(activation_scenario(kLayers, {})).program;
  for (const int n : {1, 4, 9}) {
    const Program some = lower_scenario(activation_scenario(kLayers, {.offloaded = n})).program;
    expect_exact(fmt::format("host, {} layers", n).c_str(), n * kLayer,
                 peak_host_bytes(some, some.roles[0]));
    expect_exact(fmt::format("device, {} layers", n).c_str(), kept_on_device(all) - n * kLayer,
                 kept_on_device(some));
  }
}

/// FSDP2 of `kLayers` layers over two ranks, gathers and copies in front of them in seconds.
Simulation sharded_step(double gather, double fetch, bool offload) {
  return simulate_unit(scenario_of(fmt::format(
      R"(id: sharded
model: {model}
cluster:
  device: unit
  devices_per_node: 2
  nodes: 1
  unit: {{layer: {{F: "1 s", B: "2 s"}}, collective: {{all_gather: "{g} s", reduce_scatter: "0.5 s"}},
         offload: {{to_device: "{c} s"}}}}
batch: {{global: 2, micro: 1, sequence: 32}}
plan: {{preset: fsdp2, offload: {{optimizer: {o}, params: {o}}}}}
)",
      fmt::arg("model", small_model(kLayers)), fmt::arg("g", gather), fmt::arg("c", fetch),
      fmt::arg("o", offload ? 1.0 : 0.0))));
}

// Where the gather and a reduction fit behind a backward: a copy is no work of their communicator.
TEST(OffloadedShards, ComeInFrontOfTheirGathers) {
  for (const auto& [gather, fetch] : {std::pair{0.25, 0.5}, {0.5, 0.75}, {0.5, 1.0}}) {
    expect_relative(fmt::format("gather {} behind copy {}", gather, fetch).c_str(),
                    sharded_step(gather + fetch, 0, false).report.step_time_s,
                    sharded_step(gather, fetch, true).report.step_time_s, kRelative);
  }
}

// fp32 weights, gradients and two moments on the host, 16 bytes a parameter over two ranks; the
// device keeps nothing but the step's.
TEST(OffloadedShards, LeaveTheDevice) {
  const Lowered l = sharded_step(0, 0, true).lowered;
  const Role& role = l.program.roles[0];
  const std::int64_t p =
      count_parameters(l.resolved.scenario.model, l.resolved.plan.vocab_padded).total();
  EXPECT_EQ(static_device_bytes(role), 0);
  constexpr std::int64_t kScalars = 4;
  expect_exact("host", 16 * p / 2 + kScalars, peak_host_bytes(l.program, role));
}

}  // namespace
}  // namespace windtunnel::closed_form
