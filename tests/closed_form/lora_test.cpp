// Low-rank adapters of lowered scenarios against their formulas: parameters, bytes of weights,
// gradients and states, bytes kept, FLOPs, what tensor parallelism sends.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "models/architectures/adapters.h"
#include "models/architectures/parameters.h"
#include "models/cost/shape_work.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "planning/utilization.h"
#include "tests/closed_form/saved_tensors.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

constexpr std::int64_t kT = 512, kH = 256, kQ = 256, kKv = 64, kF = 640, kVocab = 1024, kLayers = 2,
                       kR = 16;
constexpr std::int64_t kQkv = kQ + 2 * kKv;
/// W of one layer, and its adapters where qkv and fc1 have one A each.
constexpr std::int64_t kWeights = kH * kQkv + kQ * kH + 3 * kH * kF;
constexpr std::int64_t kAttentionAdapters = kR * ((kH + kQkv) + (kQ + kH));
constexpr std::int64_t kMlpAdapters = kR * ((kH + 2 * kF) + (kF + kH));
constexpr std::int64_t kAdapters = kAttentionAdapters + kMlpAdapters;

struct Lowered {
  ResolvedScenario resolved;
  Program program;
};

Lowered lowered(const std::string& plan, int devices = 1, int global = 1) {
  Lowered l{.resolved = resolve(scenario_of(fmt::format(
                R"(id: lora
model: {{layers: 2, hidden: 256, heads: 8, kv_heads: 2, ffn: 640, vocab: 1024, activation: swiglu,
        norm: rmsnorm, position: rope, bias: false}}
cluster: {{device: h100-sxm-80gb, devices_per_node: {}, nodes: 1}}
batch: {{global: {}, micro: 1, sequence: 512}}
plan: {{{}}}
)",
                devices, global, plan))),
            .program = {}};
  l.program = lower(l.resolved);
  return l;
}

std::int64_t adapters_of(const Lowered& l) {
  std::int64_t n = 0;
  for (const Param& param : l.program.params) {
    const std::string& name = l.program.names[param.name];
    if (name.find(".lora_") != name.npos) n += param.size();
  }
  return n;
}

TEST(Lora, ParametersOfALinearAreRTimesInPlusOut) {
  const Lowered one_each = lowered("preset: none, lora: {rank: 16}");
  EXPECT_EQ(kLayers * kAdapters, adapters_of(one_each));
  EXPECT_EQ(kLayers * kAdapters,
            adapter_parameters(one_each.resolved.scenario.model, *one_each.resolved.plan.lora));
  const Lowered attention = lowered("preset: none, lora: {rank: 16, modules: [attention]}");
  EXPECT_EQ(kLayers * kAttentionAdapters, adapters_of(attention));
  // q, k, v and gate, up have an A each: 2 + 1 more of (r, h).
  const Lowered torch = lowered("preset: ddp, lora: {rank: 16}");
  EXPECT_EQ(kLayers * (kAdapters + 3 * kR * kH), adapters_of(torch));
  EXPECT_EQ(adapters_of(torch),
            adapter_parameters(torch.resolved.scenario.model, *torch.resolved.plan.lora));
}

// Llama-3-8B, every linear layer adapted on its own with r = 16: 41,943,040, the count PEFT prints.
TEST(Lora, ParametersOfLlama3) {
  const Scenario s = scenario_of(
      "id: llama\nmodel: llama3-8b\ncluster: {device: h100-sxm-80gb, devices_per_node: 1, nodes: "
      "1}\nbatch: {global: 1, micro: 1, sequence: 128}\n");
  const LoraShape every{
      .rank = 16, .alpha = 16, .attention = true, .mlp = true, .per_projection = true};
  EXPECT_EQ(41'943'040, adapter_parameters(s.model, every));
}

std::map<Category, std::int64_t> static_bytes(const Lowered& l) {
  std::map<Category, std::int64_t> bytes;
  for (const Slot& slot : l.program.roles[0].slots) {
    if (slot.space == Space::statics && slot.parent == kNone) bytes[slot.category] += slot.bytes();
  }
  return bytes;
}

/// bf16 weights, fp32 gradients, master and moments: 2 P + 2 r, then 4 r + (4 + 8) r / d.
void expect_states(const char* plan, int dp, int shards) {
  const Lowered l = lowered(plan, dp, dp);
  const std::int64_t adapters = kLayers * kAdapters;
  const std::int64_t frozen = count_parameters(l.resolved.scenario.model).total();
  const auto bytes = static_bytes(l);
  EXPECT_EQ(2 * (frozen + adapters), bytes.at(Category::weights)) << plan;
  EXPECT_EQ(4 * adapters, bytes.at(Category::grads)) << plan;
  EXPECT_EQ(4 * adapters / shards, bytes.at(Category::master_weights)) << plan;
  EXPECT_EQ(8 * adapters / shards, bytes.at(Category::optimizer_states)) << plan;
}

TEST(Lora, StatesAreOfAdaptersAlone) {
  expect_states("preset: none, lora: {rank: 16}", 1, 1);
  expect_states("preset: none, dp: 4, sharding: {kind: zero1}, lora: {rank: 16}", 4, 4);
}

// fully_shard with fp32 shards: 4 (P + r) / d of weights, 8 r / d of moments, no master.
TEST(Lora, ShardsOfUnits) {
  const Lowered l = lowered("preset: fsdp2, dp: 4, lora: {rank: 16}", 4, 4);
  const std::int64_t adapters = adapters_of(l);
  const std::int64_t all = count_parameters(l.resolved.scenario.model).total() + adapters;
  const auto bytes = static_bytes(l);
  EXPECT_EQ(all, bytes.at(Category::weights));  // 4 bytes / 4
  EXPECT_EQ(2 * adapters, bytes.at(Category::optimizer_states));
  EXPECT_EQ(bytes.count(Category::master_weights), 0u);
  std::map<Collective, std::int64_t> moved;
  for (const Call& call : l.program.roles[0].calls) {
    for (const Op& op : l.program.ops_of(call)) {
      if (op.kind != OpKind::collective || op.phase == Phase::optimizer || !runs(op, call, 1))
        continue;
      moved[op.collective] += op.elements;
    }
  }
  EXPECT_EQ(adapters, moved[Collective::reduce_scatter]);  // adapters alone
  // All in forward; in backward again but for the head's unit, which stayed.
  const std::int64_t head = kVocab * kH + kH;
  EXPECT_EQ(2 * all - head, moved[Collective::all_gather]);
}

/// Both ends frozen: a product is done twice, the first layer's qkv once, an adapter's thrice but
/// for the first layer's dx through qkv's A.
TEST(Lora, FlopsOfAStep) {
  const Lowered l = lowered("preset: none, lora: {rank: 16}");
  const std::int64_t core = 2 * kT * kT * kQ;  // causal scores and context of a layer
  const std::int64_t frozen = kLayers * kWeights + kVocab * kH;
  const std::int64_t products = 2 * kT * (2 * frozen - kH * kQkv);
  const std::int64_t adapters = 2 * kT * (3 * kLayers * kAdapters - kR * kH);
  const double expected = static_cast<double>(products + adapters) +
                          static_cast<double>(kLayers * core) * (1 + kFlashBackwardFactor);
  EXPECT_DOUBLE_EQ(expected, executed_flops(l.program).value);
  // The convention counts every dx, and 2 core for the backward of attention.
  const double convention =
      static_cast<double>(4 * kT * frozen + 6 * kT * kLayers * kAdapters + 3 * kLayers * core);
  EXPECT_DOUBLE_EQ(convention, kT * lora_flops_per_token(l.resolved.scenario.model,
                                                         *l.resolved.plan.lora, {.sequence = kT})
                                        .value);
}

// Where attention is not adapted, nothing of the first layer's is run backward; where the MLP is
// not, its inputs are not kept.
TEST(Lora, BackwardEndsAtTheFirstAdapter) {
  const Lowered l = lowered("preset: none, lora: {rank: 16, modules: [mlp]}");
  for (const Call& call : l.program.roles[0].calls) {
    for (const Op& op : l.program.ops_of(call)) {
      const bool attention = op.module == Module::attention || op.module == Module::core_attention;
      EXPECT_FALSE(attention && op.phase == Phase::backward && op.layer == 0);
    }
  }
}

TEST(Lora, BytesKeptOfALayer) {
  // Norms keep their inputs and deviations; attention qkv, context and log(sum(exp)) of 8 heads;
  // the MLP fc1's output. Every linear layer's input is one of these or the norm's output.
  const std::int64_t norms = 2 * (2 * kH + 4), attention = 2 * (kQkv + kQ) + 4 * 8;
  const std::int64_t activation = 2 * 2 * kF;
  const Lowered mlp = lowered("preset: none, lora: {rank: 16, modules: [mlp]}");
  const Lowered both = lowered("preset: none, lora: {rank: 16}");
  const Lowered of_attention = lowered("preset: none, lora: {rank: 16, modules: [attention]}");
  const auto kept = [](const Lowered& l) {
    return saved_layer_bytes(l.program.roles[0], 1, NormStats::counted);
  };
  const std::int64_t base = norms + attention + activation;
  const std::int64_t of_mlp = 2 * (kH + kF) + 2 * (2 * kR);  // norm2's output, activation, x A^T
  EXPECT_EQ(kT * (base + of_mlp), kept(mlp));
  EXPECT_EQ(kT * (base + 2 * kH + 2 * (2 * kR)), kept(of_attention));  // norm1's output, x A^T
  EXPECT_EQ(kT * (base + of_mlp + 2 * kH + 2 * (2 * kR)), kept(both));
}

// Of one layer over tp: forward gathers (T, r) and sums it, twice each; gathers (T, h) for both
// row-parallel layers. Backward sums (T, r) of four adapters, and dx of both column-parallel ones.
TEST(Lora, TransfersOverTensorParallelRanks) {
  const Lowered with = lowered("preset: none, tp: 2, lora: {rank: 16}", 2);
  const Lowered without = lowered("preset: none, tp: 2", 2);
  const auto moved = [](const Lowered& l, Collective kind) {
    std::int64_t elements = 0;
    for (const Call& call : l.program.roles[0].calls) {
      for (const Op& op : l.program.ops_of(call)) {
        if (op.kind == OpKind::collective && op.collective == kind && op.layer == 1)
          elements += op.elements;
      }
    }
    return elements;
  };
  EXPECT_EQ(kT * (2 * kR + 2 * kH), moved(with, Collective::all_gather));
  EXPECT_EQ(kT * (2 * kR + 4 * kR + 2 * kH),
            moved(with, Collective::all_reduce) - moved(without, Collective::all_reduce));
}

}  // namespace
}  // namespace windtunnel::closed_form
