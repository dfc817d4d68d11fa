// Latent attention and multi-token prediction of lowered scenarios against their formulas: bytes
// kept, FLOPs, what tensor parallelism sends, parameters.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "models/architectures/parameters.h"
#include "models/architectures/zoo.h"
#include "models/cost/shape_work.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "program/collective_counts.h"
#include "tests/closed_form/saved_tensors.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel::closed_form {
namespace {

// DeepSeek-V3's attention with a narrow MLP.
constexpr std::int64_t kT = 4096, kH = 7168, kHeads = 128, kQuery = 1536, kKv = 512, kNope = 128,
                       kRope = 64, kValue = 128, kFfn = 256, kVocab = 512;
constexpr std::int64_t kKeyWidth = kHeads * (kNope + kRope), kValueWidth = kHeads * kValue;

Program lowered(const std::string& plan, int devices = 1, const char* more = "") {
  return lower(resolve(scenario_of(fmt::format(
      R"(id: latent
model: {{layers: 2, hidden: 7168, heads: 128, ffn: 256, vocab: 512, activation: swiglu,
        mla: {{q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64,
              v_head_dim: 128}}{}}}
cluster: {{device: h100-sxm-80gb, devices_per_node: {}, nodes: 1}}
batch: {{global: 1, micro: 1, sequence: 4096}}
plan: {{preset: none, {}}}
)",
      more, devices, plan))));
}

/// Beside the widths of attention: two norms (input kept, output kept), the MLP, log(sum(exp)) of
/// every row, reciprocal deviations of four norms.
constexpr std::int64_t kOther = kT * (2 * (4 * kH + 3 * kFfn) + 4 * kHeads + std::int64_t{4} * 4);

TEST(LatentAttention, BytesKept) {
  // The latents, raw and normed, then queries, keys and values of all heads, and the context.
  const std::int64_t latents = 2 * (kQuery + kKv);
  const std::int64_t heads = 2 * kKeyWidth + kValueWidth + kValueWidth;
  EXPECT_EQ(kOther + 2 * kT * (latents + heads),
            saved_layer_bytes(lowered("tp: 1").roles[0], 0, NormStats::counted));
}

TEST(LatentAttention, RecomputedUpProjectionsKeepLatentsAndTheSharedKey) {
  const Program program = lowered("tp: 1, recompute: {kind: selective, modules: [mla_up_proj]}");
  // Norms are made again with the projections: their deviations are not kept.
  const std::int64_t deviations = std::int64_t{2} * 4;
  EXPECT_EQ(kOther + kT * (2 * (kQuery + kKv + kRope + kValueWidth) - deviations),
            saved_layer_bytes(program.roles[0], 0, NormStats::counted));
}

CollectiveCounts over_cp(const Program& program, Phase phase) {
  return count_collectives(program, 0, {.comm = "cp", .phase = phase, .layer = 1});
}

// A hop moves keys, rotary part and all, and values of all heads: T / C rows of a (n + r + v).
TEST(LatentAttention, HopsOfARing) {
  constexpr std::int64_t kRanks = 4, kHop = kT / kRanks * (kKeyWidth + kValueWidth) * 2;
  const Program program = lowered("cp: 4, cp_kind: ring", 4);
  const CollectiveCount hops = over_cp(program, Phase::forward).sum(Collective::ring_shift);
  EXPECT_EQ(kRanks - 1, hops.count);
  EXPECT_EQ(83'886'080, kHop);
  EXPECT_EQ((kRanks - 1) * kHop, hops.bytes);
  const CollectiveCount back = over_cp(program, Phase::backward).sum(Collective::ring_shift);
  EXPECT_EQ((kRanks - 1) * kHop + kRanks * 2 * kHop, back.bytes);  // gradients in fp32
}

TEST(LatentAttention, GatheredKeysAndExchangedHeads) {
  constexpr std::int64_t kKeys = kT * (kKeyWidth + kValueWidth) * 2;  // of the whole sequence
  const Program gathered = lowered("cp: 4, cp_kind: all_gather", 4);
  EXPECT_EQ(kKeys, over_cp(gathered, Phase::forward).sum(Collective::all_gather).bytes);
  const CollectiveCounts back = over_cp(gathered, Phase::backward);
  EXPECT_EQ(kKeys, back.sum(Collective::all_gather).bytes);
  EXPECT_EQ(kKeys, back.sum(Collective::reduce_scatter).bytes);
  // Queries and keys, values and the context.
  const Program exchanged = lowered("cp: 4, cp_kind: ulysses", 4);
  EXPECT_EQ(kT / 4 * 2 * (kKeyWidth + kValueWidth) * 2,
            over_cp(exchanged, Phase::forward).sum(Collective::all_to_all).bytes);
}

double attention_flops_of(const Program& program) {
  double sum = 0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::compute) continue;
    const Shape& shape = program.shapes[op.shape];
    if (row_of(shape.kernel).cls == KernelClass::attention) sum += shape_work(shape).flops;
  }
  return sum;
}

// T s a (n + r + v) FLOP of a layer's forward, and 2.5 times that backward, shared out.
TEST(LatentAttention, RanksShareOneDevicesAttention) {
  const double whole = 3.5 * 2 * static_cast<double>(kT) * kT * (kKeyWidth + kValueWidth);
  EXPECT_DOUBLE_EQ(whole, attention_flops_of(lowered("tp: 1")));
  for (const char* kind : {"ring", "all_gather", "ulysses", "ulysses+ring"})
    EXPECT_DOUBLE_EQ(whole / 4,
                     attention_flops_of(lowered(fmt::format("cp: 4, cp_kind: {}", kind), 4)));
}

double forward_flops_of_layer(const Program& program) {
  double sum = 0;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.layer == 0 && op.phase == Phase::forward && op.kind == OpKind::compute)
        sum += shape_work(program.shapes[op.shape]).flops;
    }
  }
  return sum;
}

TEST(LatentAttention, FlopsOfALayer) {
  const std::int64_t weights = kH * kQuery + kQuery * kKeyWidth + kH * (kKv + kRope) +
                               kKv * kHeads * (kNope + kValue) + kValueWidth * kH + 3 * kH * kFfn;
  // Causal: half of 2 s a (d_qk + d_v) a token; 167,772,160 of it, as DeepSeek-V3's.
  const std::int64_t core = kT * kHeads * (kNope + kRope + kValue);
  EXPECT_EQ(167'772'160, core);
  EXPECT_DOUBLE_EQ(static_cast<double>(kT * (2 * weights + core)),
                   forward_flops_of_layer(lowered("tp: 1")));
}

/// Elements of the tp collectives of one layer's forward.
std::vector<std::int64_t> forward_transfers(const Program& program, Collective collective) {
  std::vector<std::int64_t> elements;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.layer == 0 && op.phase == Phase::forward && op.kind == OpKind::collective &&
          op.collective == collective)
        elements.push_back(op.elements);
    }
  }
  return elements;
}

TEST(LatentAttention, SequenceParallelGathersLatentsNotHiddenStates) {
  const Program program = lowered("tp: 4, sequence_parallel: true", 4);
  EXPECT_EQ((std::vector<std::int64_t>{kT * kRope, kT * kQuery, kT * kKv, kT * kH}),
            forward_transfers(program, Collective::all_gather));  // the last: of the MLP
  EXPECT_EQ((std::vector<std::int64_t>{kT * kH, kT * kH}),
            forward_transfers(program, Collective::reduce_scatter));
}

std::int64_t parameters_of(const Program& program) {
  std::int64_t sum = 0;
  for (const Param& p : program.params) {
    if (!p.tied_copy) sum += p.experts * p.rows * p.cols;
  }
  return sum;
}

TEST(LatentAttention, ParametersOfDeepSeekV3) {
  // One device of a size of our own making holds it; router biases (58 layers of 256) are not
  // lowered.
  const Model model = *zoo_model("deepseek-v3");
  const ParameterCount count = count_parameters(model);
  const Scenario s = scenario_of(
      "id: deepseek\nmodel: deepseek-v3\ncluster: {device: h100-sxm-80gb, devices_per_node: 1, "
      "nodes: 1}\nbatch: {global: 1, micro: 1, sequence: 64}\nplan: {preset: none}\n");
  EXPECT_EQ(count.total() + count.mtp - std::int64_t{58 + 1} * 256,
            parameters_of(lower(resolve(s))));
}

/// Of Qwen3-30B's attention, with a narrow MLP.
Program with_head_norms(const char* framework, bool norms) {
  Scenario s = scenario_of(fmt::format(
      R"(id: norms
stack: {{framework: {}}}
model: {{layers: 2, hidden: 2048, heads: 32, kv_heads: 4, head_dim: 128, ffn: 256, vocab: 512,
        activation: swiglu}}
cluster: {{device: h100-sxm-80gb, devices_per_node: 1, nodes: 1}}
batch: {{global: 1, micro: 1, sequence: 4096}}
plan: {{preset: none}}
)",
      framework));
  s.model.qk_norm = norms;
  return lower(resolve(s));
}

TEST(HeadNorms, ParametersAndBytesKept) {
  const std::int64_t q = std::int64_t{32} * 128, kv = std::int64_t{4} * 128;
  const Program plain = with_head_norms("megatron-core", false);
  const Program normed = with_head_norms("megatron-core", true);
  EXPECT_EQ(parameters_of(plain) + std::int64_t{2} * 2 * 128, parameters_of(normed));
  const auto saved = [](const Program& p) {
    return saved_layer_bytes(p.roles[0], 0, NormStats::counted);
  };
  // The product's output, which the values keep alive; copied query and key heads, and what
  // attention reads; a deviation for every head.
  EXPECT_EQ(saved(plain) + kT * (2 * (q + kv) + 2 * (q + 2 * kv) + std::int64_t{4} * (32 + 4)),
            saved(normed));
  // Three products' outputs: query and key heads as they are, and what attention reads.
  EXPECT_EQ(
      saved(with_head_norms("pytorch", false)) + kT * (2 * (q + kv) + std::int64_t{4} * (32 + 4)),
      saved(with_head_norms("pytorch", true)));
}

TEST(TokenPrediction, LossesWeighATenthTogether) {
  const Program program = lowered("tp: 1", 1, ", mtp_layers: 2");
  std::vector<std::int64_t> divisors;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) {
      const bool loss =
          op.kind == OpKind::compute && program.shapes[op.shape].kernel == Kernel::ce_loss;
      if (loss) divisors.push_back(program.shapes[op.shape].dims[1]);
    }
  }
  EXPECT_EQ((std::vector<std::int64_t>{20 * kT, 20 * kT, kT}), divisors);
}

TEST(TokenPrediction, AddsALayerAProjectionAndAHead) {
  const auto flops = [](const Program& program) {
    double sum = 0;
    for (const Call& call : program.roles[0].calls) {
      for (const Op& op : program.ops_of(call)) {
        if (op.kind == OpKind::compute && op.phase == Phase::forward)
          sum += shape_work(program.shapes[op.shape]).flops;
      }
    }
    return sum;
  };
  const Program plain = lowered("tp: 1");
  const double layer = forward_flops_of_layer(plain);
  const double more = 2.0 * kT * static_cast<double>(2 * kH * kH + kH * kVocab);
  EXPECT_DOUBLE_EQ(flops(plain) + layer + more, flops(lowered("tp: 1", 1, ", mtp_layers: 1")));
}

// A depth's unit: a layer, the projection of (T, 2h), norms of the embedding, of the hidden state
// before and of its own; gathered forward and backward. The root is gathered once.
TEST(MultiTokenPrediction, UnitsOfShardedWeights) {
  constexpr std::int64_t kHidden = 64, kWidth = 128, kLayers = 2;
  const Program program = lower(resolve(scenario_of(R"(id: predicting
model: {layers: 2, hidden: 64, heads: 4, ffn: 128, vocab: 256, activation: swiglu, norm: rmsnorm,
        position: rope, bias: false, mtp_layers: 1}
cluster: {device: h100-sxm-80gb, devices_per_node: 2, nodes: 1}
batch: {global: 2, micro: 1, sequence: 64}
plan: {preset: fsdp2}
)")));
  const std::int64_t layer = 4 * kHidden * kHidden + 3 * kHidden * kWidth + 2 * kHidden;
  const std::int64_t prediction = layer + 2 * kHidden * kHidden + 3 * kHidden;
  const std::int64_t root = 2 * 256 * kHidden + kHidden;
  std::map<std::int64_t, std::vector<std::int64_t>> gathered;  // by layer
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::collective && op.collective == Collective::all_gather)
      gathered[op.layer].push_back(op.elements);
  }
  using Elements = std::vector<std::int64_t>;
  EXPECT_EQ((Elements{root}), gathered[-1]);
  EXPECT_EQ((Elements{layer, layer}), gathered[0]);
  EXPECT_EQ((Elements{prediction, prediction}), gathered[kLayers]);
}

}  // namespace
}  // namespace windtunnel::closed_form
