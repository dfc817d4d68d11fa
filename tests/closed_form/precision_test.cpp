// Do products in 8 bits keep, move and send what the formulas of docs/precision.md say? T tokens, h
// hidden, q and kv widths of queries and keys, f feed-forward width, a heads, V vocabulary.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/chunked_loss.h"
#include "tests/closed_form/saved_tensors.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr std::int64_t kTokens = 8192, kHidden = 4096, kKeyValue = 1024, kFfn = 14336, kHeads = 32,
                       kVocabulary = 128256;                         // Llama 3 8B
constexpr std::int64_t kStats = 8 * kTokens + 4 * kHeads * kTokens;  // of norms and attention

struct PrecisionPlan {
  const char* plan;
  const char* device = "h100-sxm-80gb";
  const char* framework = "megatron-lm";
  int devices = 1;
  const char* date = "2026-01";
  const char* preset = "megatron";
};

Program program_of(const PrecisionPlan& p) {
  return lower_scenario(
             scenario_of(fmt::format(
                 R"(id: precision
stack: {{framework: {framework}, date: {date}}}
model: {{layers: 2, hidden: 4096, ffn: 14336, heads: 32, kv_heads: 8, vocab: 128256,
        activation: swiglu, norm: rmsnorm, position: rope, bias: false}}
cluster: {{device: {device}, devices_per_node: {devices}, nodes: 1}}
batch: {{global: {devices}, micro: 1, sequence: 8192}}
plan: {{preset: {preset}{plan}}}
)",
                 fmt::arg("framework", p.framework), fmt::arg("device", p.device),
                 fmt::arg("devices", p.devices), fmt::arg("date", p.date),
                 fmt::arg("preset", p.preset),
                 fmt::arg("plan", *p.plan == 0 ? std::string() : ", " + std::string(p.plan)))))
      .program;
}

std::int64_t saved_by_a_layer(const PrecisionPlan& p) {
  return saved_layer_bytes(program_of(p).roles[0], 0, NormStats::counted);
}

// 16 bits: T (12 h + 4 kv + 6 f). 8 bits: the inputs of the four linear layers are a byte, and the
// attention's output is kept in both.
TEST(Precision, SavedActivationsOfEightBits) {
  const std::int64_t wide = kTokens * (12 * kHidden + 4 * kKeyValue + 6 * kFfn) + kStats;
  const std::int64_t narrow = kTokens * (11 * kHidden + 4 * kKeyValue + 5 * kFfn) + kStats;
  expect_exact("bf16", wide, saved_by_a_layer({.plan = "precision: {compute: bf16}"}));
  expect_exact("fp8 delayed", narrow, saved_by_a_layer({.plan = "precision: {compute: fp8}"}));
  expect_exact("fp8 tensorwise, one layout", narrow,
               saved_by_a_layer({.plan = "precision: {compute: fp8, fp8_recipe: current}",
                                 .device = "b200-sxm-180gb"}));
  // mxfp8 keeps a scale of a byte for each 32 elements.
  const std::int64_t scales = kTokens * (3 * kHidden + kFfn) / 32;
  expect_exact(
      "mxfp8", narrow + scales,
      saved_by_a_layer({.plan = "precision: {compute: mxfp8}", .device = "b200-sxm-180gb"}));
}

/// Bytes the kernels of this kind move in one forward and backward of layer 0.
std::int64_t traffic(const Program& program, Kernel kernel) {
  std::int64_t bytes = 0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::compute || op.layer != 0) continue;
    const Shape& shape = program.shapes[op.shape];
    if (shape.kernel == kernel) bytes += shape.bytes_read + shape.bytes_written;
  }
  return bytes;
}

// Tensorwise on Hopper: inputs, weights and output gradients are read for their amax, read again,
// and written in both layouts (a float each for the amax).
TEST(Precision, TensorwiseOperandsAreReadTwice) {
  const Program program = program_of({.plan = "precision: {compute: fp8, fp8_recipe: tensorwise}"});
  const std::int64_t qkv = kHidden + 2 * kKeyValue;
  const std::int64_t inputs = kTokens * (3 * kHidden + kFfn);
  const std::int64_t gradients = kTokens * (qkv + kHidden + 2 * kFfn + kHidden);
  const std::int64_t weights = kHidden * (qkv + kHidden + 3 * kFfn);
  const std::int64_t elements = inputs + gradients + weights;
  constexpr std::int64_t kAmaxes = std::int64_t{12} * 4;
  expect_exact("amax pass", 2 * elements + kAmaxes, traffic(program, Kernel::amax));
  expect_exact("quantise", 4 * elements + kAmaxes, traffic(program, Kernel::quantize));
}

// Delayed: read once, and what a norm makes is not read at all.
TEST(Precision, DelayedOperandsAreReadOnce) {
  const Program program = program_of({.plan = "precision: {compute: fp8, fp8_recipe: delayed}"});
  const std::int64_t qkv = kHidden + 2 * kKeyValue;
  const std::int64_t inputs = kTokens * (3 * kHidden + kFfn);
  const std::int64_t gradients = kTokens * (qkv + kHidden + 2 * kFfn + kHidden);
  const std::int64_t weights = kHidden * (qkv + kHidden + 3 * kFfn);
  constexpr std::int64_t kAmaxes = std::int64_t{12} * 4;
  expect_exact("no amax pass", 0, traffic(program, Kernel::amax));
  expect_exact("quantise", 4 * (inputs + gradients + weights) - 2 * kTokens * 2 * kHidden + kAmaxes,
               traffic(program, Kernel::quantize));
}

// One reduction of all amaxes at the end of every forward and backward, over tp x dp.
TEST(Precision, AmaxesAreReducedOncePerPass) {
  const Program program = program_of({.plan = "tp: 2, precision: {compute: fp8}", .devices = 4});
  std::vector<std::int64_t> elements;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::collective && program.comms[op.comm].name == "amax")
      elements.push_back(op.elements);
  }
  ASSERT_EQ(elements.size(), 2u);
  expect_exact("forward: input and weight of 8 layers", 16, elements[0]);
  expect_exact("backward: output gradients", 8, elements[1]);
}

// Sequence parallel: what a linear layer gathers is a byte an element.
TEST(Precision, GathersAreQuantised) {
  const Program program = program_of(
      {.plan = "tp: 2, sequence_parallel: true, precision: {compute: fp8}", .devices = 2});
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::collective || op.layer < 0) continue;
    const bool gathers = op.collective == Collective::all_gather;
    EXPECT_EQ(op.dtype, gathers ? Dtype::fp8 : Dtype::bf16);
  }
}

std::int64_t bytes_named(const Role& role, const Program& program, const std::string& name) {
  std::int64_t most = 0;
  for (const Slot& slot : role.slots) {
    if (program.names[slot.name] == name) most = std::max(most, slot.bytes());
  }
  return most;
}

// Least power of two >= T / ceil(V / h) = 256: the logits of a chunk, and nothing of T V.
TEST(ChunkedLoss, ChunksHoldAsMuchAsTheInput) {
  expect_exact("rows", 256, chunk_rows(kTokens, kVocabulary, kHidden));
  const Program program = program_of({.plan = "logits: {cross_entropy: chunked}"});
  const Role& role = program.roles[0];
  expect_exact("logits of a chunk", std::int64_t{2} * 256 * kVocabulary,
               bytes_named(role, program, "logits_chunk"));
  expect_exact("input gradient", 2 * kTokens * kHidden,
               bytes_named(role, program, "head_input_grad"));
  expect_exact("weight gradient", 2 * kVocabulary * kHidden,
               bytes_named(role, program, "head_weight_grad"));
  for (const Slot& slot : role.slots) {
    if (slot.category != Category::logits) continue;
    EXPECT_LT(slot.bytes(), kTokens * kVocabulary / 8);
  }
}

// A compiled loss keeps the 16-bit logits and makes their gradient: 4 T V, not 4 + 4 + 2 + 2.
TEST(Compile, TheLossKeepsItsLogitsInSixteenBits) {
  const Program program = program_of({.plan = "compile: true"});
  std::int64_t bytes = 0;
  for (const Slot& slot : program.roles[0].slots) {
    if (slot.category == Category::logits && slot.elements > kTokens) bytes += slot.bytes();
  }
  expect_exact("logits and their gradient", 4 * kTokens * kVocabulary, bytes);
}

/// Bytes of tensors in 32 bits over the vocabulary that the loss's backward reads, makes, or
/// leaves.
std::int64_t loss_gradient_bytes(const Program& program) {
  std::int64_t most = 0;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::compute || program.shapes[op.shape].kernel != Kernel::ce_bwd) continue;
    std::int64_t bytes = 0;
    std::set<std::uint32_t> seen;
    for (const std::uint32_t slot : program.operands(op)) {
      const Slot& s = program.roles[0].slots[slot];
      const bool wide = s.category == Category::logits && s.dtype == Dtype::fp32;
      if (wide && s.elements > 2 * kTokens && seen.insert(slot).second) bytes += s.bytes();
    }
    most = std::max(most, bytes);
  }
  if (most == 0) return 0;
  for (const Slot& s : program.roles[0].slots) {
    if (program.names[s.name] == "dlog_probs") most += s.bytes();
  }
  return most;
}

// Log-probabilities alone, with two more as large, or with three under loss_parallel.
TEST(Loss, TensorsOfItsGradient) {
  const std::int64_t whole = 4 * kTokens * kVocabulary;
  const auto bytes = [](PrecisionPlan p) { return loss_gradient_bytes(program_of(p)); };
  expect_exact("vocabulary-parallel", whole / 2, bytes({.plan = "tp: 2", .devices = 2}));
  expect_exact("torch", 3 * whole,
               bytes({.plan = "", .framework = "fsdp", .devices = 2, .preset = "fsdp2"}));
  expect_exact("loss_parallel", 4 * whole / 2,
               bytes({.plan = "tp: 2, sequence_parallel: true",
                      .framework = "fsdp",
                      .devices = 4,
                      .preset = "fsdp2"}));
}

// torchtitan turned the compilation of its loss on, off and on again.
TEST(Loss, IsCompiledWhenTorchtitanDid) {
  const auto eager = [](const char* date) {
    return loss_gradient_bytes(program_of({.plan = "compile: true",
                                           .framework = "torchtitan",
                                           .devices = 2,
                                           .date = date,
                                           .preset = "fsdp2"})) > 0;
  };
  EXPECT_TRUE(eager("2024-09"));
  EXPECT_FALSE(eager("2024-11"));
  EXPECT_TRUE(eager("2024-12"));
  EXPECT_FALSE(eager("2025-04"));
}

int launches_of_a_layer(const Program& program) {
  int launches = 0;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::compute && op.layer == 0) launches += op.launches;
  }
  return launches;
}

// The second norm goes on from the residual addition, both gradient additions from their norms.
TEST(Compile, NormsAndAdditionsAreOneKernel) {
  const int eager = launches_of_a_layer(program_of({.plan = "compile: false"}));
  const int compiled = launches_of_a_layer(program_of({.plan = "compile: true"}));
  expect_exact("launches saved in a layer", 3, eager - compiled);
}

// bitsandbytes: a byte for each state, and a scale in fp32 for each 256 of either.
TEST(Adam8bit, BytesOfStates) {
  const Program program = program_of({.plan = "optimizer: adam8bit"});
  std::int64_t bytes = 0, elements = 0;
  for (const Slot& slot : program.roles[0].slots) {
    if (slot.category == Category::optimizer_states && slot.parent == kNone) bytes += slot.bytes();
    if (slot.category == Category::master_weights) elements += slot.elements;
  }
  expect_exact("2 n + 8 n / 256", 2 * elements + 8 * ((elements + 255) / 256), bytes);
}

}  // namespace
}  // namespace windtunnel::closed_form
