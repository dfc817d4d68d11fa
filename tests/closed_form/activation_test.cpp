// Does a lowered layer keep what the formulas say? Sums of the frame slots of one layer, and of all
// layers in flight on the first stage. b micro-batch, s sequence, T = b s tokens, h hidden, a
// heads, kv key/value width, f feed-forward width, t tensor-parallel degree, L layers, p stages.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/closed_form/saved_tensors.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

Program program_of(const std::string& text) {
  return lower_scenario(scenario_of(text)).program;
}

// ---- GPT-3 175B, b 1, s 2048 (Korthikanti et al. 2022, 2205.05198, section 4) ----

constexpr std::int64_t kSequence = 2048, kHidden = 12288, kHeads = 96;
constexpr std::int64_t kSbh = kSequence * kHidden;
constexpr std::int64_t kScores = 5 * kHeads * kSequence * kSequence;  // 5 a s s, the core attention

/// Bytes a layer of two keeps, its attention unfused and with dropout.
std::int64_t gpt3_layer(int tp, const std::string& plan) {
  const Program program = program_of(fmt::format(R"(id: gpt3
model: {{name: gpt3, layers: 2, hidden: 12288, ffn: 49152, heads: 96, vocab: 51200, activation: gelu,
        norm: layernorm, position: learned, tied_embeddings: true, bias: true, dropout: true}}
cluster: {{device: unit, devices_per_node: {tp}, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: 1, micro: 1, sequence: 2048}}
plan: {{tp: {tp}, attention: unfused{plan}}}
)",
                                                 fmt::arg("tp", tp), fmt::arg("plan", plan)));
  return saved_layer_bytes(program.roles[0], 0, NormStats::left_out);
}

TEST(Activations, Oracle_O_034_gpt3_layer) {  // s b h (34 + 5 a s / h)
  const std::int64_t got = gpt3_layer(1, "");
  expect_exact("O-034", 2'868'903'936, got);
  expect_exact("O-034 closed form", 34 * kSbh + kScores, got);
}

TEST(Activations, Oracle_O_035_gpt3_layer_t8) {  // s b h (10 + 24 / t + 5 a s / (h t))
  const std::int64_t got = gpt3_layer(8, "");
  expect_exact("O-035", 578'813'952, got);
  expect_exact("O-035 closed form", 10 * kSbh + 3 * kSbh + kScores / 8, got);
}

TEST(Activations, Oracle_O_036_gpt3_layer_t8_sequence_parallel) {  // s b h / t (34 + 5 a s / h)
  const std::int64_t got = gpt3_layer(8, ", sequence_parallel: true");
  expect_exact("O-036", 358'612'992, got);
  expect_exact("O-036 closed form", (34 * kSbh + kScores) / 8, got);
}

TEST(Activations, Oracle_O_037_gpt3_layer_t8_selective) {  // 34 s b h / t
  const std::int64_t got = gpt3_layer(
      8, ", sequence_parallel: true, recompute: {kind: selective, modules: [core_attention]}");
  expect_exact("O-037", 106'954'752, got);
  expect_exact("O-037 closed form", 34 * kSbh / 8, got);
}

TEST(Activations, Oracle_O_038_gpt3_layer_t8_full) {  // 2 s b h
  const std::int64_t got = gpt3_layer(8, ", recompute: {kind: full}");
  expect_exact("O-038", 50'331'648, got);
  expect_exact("O-038 closed form", 2 * kSbh, got);
}

// ---- Llama: T (12 h + 4 kv + 6 f) + 4 b a s + 8 T, flash attention ----

struct LlamaLayer {
  const char* name;
  std::int64_t sequence, hidden, ffn, heads, kv_heads, vocab;

  std::int64_t closed_form() const {
    const std::int64_t kv = kv_heads * hidden / heads;
    return sequence * (12 * hidden + 4 * kv + 6 * ffn) + 4 * heads * sequence + 8 * sequence;
  }
};

constexpr LlamaLayer kLlama3{"llama3-8b", 8192, 4096, 14336, 32, 8, 128256};
constexpr LlamaLayer kLlama2{"llama2-7b", 4096, 4096, 11008, 32, 32, 32000};

Program llama_program(const LlamaLayer& l) {
  return program_of(fmt::format(R"(id: llama
model: {{name: {}, layers: 2, hidden: {}, ffn: {}, heads: {}, kv_heads: {}, vocab: {}, activation: swiglu}}
cluster: {{device: unit, devices_per_node: 1, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: 1, micro: 1, sequence: {}}}
plan: {{}}
)",
                                l.name, l.hidden, l.ffn, l.heads, l.kv_heads, l.vocab, l.sequence));
}

TEST(Activations, Oracle_O_039_llama3_8b_layer) {
  const Program program = llama_program(kLlama3);
  const std::int64_t got = saved_layer_bytes(program.roles[0], 0, NormStats::counted);
  expect_exact("O-039", 1'141'964'800, got);
  expect_exact("O-039 closed form", kLlama3.closed_form(), got);
}

TEST(Activations, Oracle_O_040_llama2_7b_layer) {
  const Program program = llama_program(kLlama2);
  const std::int64_t got = saved_layer_bytes(program.roles[0], 0, NormStats::counted);
  expect_exact("O-040", 539'525'120, got);
  expect_exact("O-040 closed form", kLlama2.closed_form(), got);
}

std::int64_t bytes_of_slot(const Program& program, const std::string& name) {
  std::int64_t bytes = 0;
  for (const Slot& slot : program.roles[0].slots) {
    if (program.names[slot.name] == name) bytes += slot.bytes();
  }
  return bytes;
}

TEST(Activations, Oracle_O_041_llama3_logits_of_a_step) {  // 2 T V and 4 T V
  const Program program = llama_program(kLlama3);
  expect_exact("O-041 bf16", 2'101'346'304, bytes_of_slot(program, "logits"));
  expect_exact("O-041 fp32", 4'202'692'608, bytes_of_slot(program, "logits_fp32"));
}

// ---- In flight on the first stage ----

/// Bytes per micro-batch of one layer of `small_model` at the 32 tokens of `unit_scenario`.
std::int64_t small_layer_bytes() {
  return LlamaLayer{"small", 32, 64, 128, 4, 2, 256}.closed_form();
}

TEST(Activations, Oracle_O_047_first_stage_of_1f1b_holds_all_layers_once) {  // p (L / p) A = L A
  constexpr int kLayers = 8;
  for (const int pp : {2, 4, 8}) {
    Scenario scenario =
        unit_scenario({.schedule = "1f1b", .pp = pp, .micro_batches = 16, .asynchronous = false});
    scenario.model.layers = kLayers;
    const Program program = lower_scenario(scenario).program;
    expect_exact(fmt::format("O-047, p {}", pp).c_str(), kLayers * small_layer_bytes(),
                 peak_saved_bytes(program, 0));
  }
}

TEST(Activations, Oracle_O_048_interleaved_p8_v2) {  // p (1 + (p - 1) / (p v)) micro-batches
  const Program program =
      lower_scenario(
          unit_scenario(
              {.schedule = "interleaved_1f1b", .pp = 8, .micro_batches = 32, .virtual_stages = 2}))
          .program;
  const double stage_bytes = 2.0 * static_cast<double>(small_layer_bytes());
  expect_relative("O-048 micro-batches by bytes", 11.5,
                  static_cast<double>(peak_saved_bytes(program, 0)) / stage_bytes, 0.0);
  expect_relative("O-048 micro-batches by calls", 11.5, peak_in_flight(program)[0] / 2.0, 0.0);
}

}  // namespace
}  // namespace windtunnel::closed_form
