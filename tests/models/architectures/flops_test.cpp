// Do the FLOP conventions give the published and derived figures?

#include "models/architectures/flops.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/architectures/gemm.h"
#include "models/architectures/hf_config.h"
#include "models/architectures/parameters.h"
#include "models/architectures/zoo.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel {
namespace {

constexpr double kExact = 0.0;               // integers below 2^53
constexpr double kRounding = 1e-12;          // a few roundings of a double
constexpr double kPrinted9 = 1e-9;           // reference values printed to ten digits
constexpr double kPrinted8 = 1e-8;           // ... to nine digits
constexpr double kPrinted5 = 1e-5;           // ... to six digits
constexpr double kRoundedSize = 1e-4;        // a parameter count quoted as 540.35 B
constexpr std::int64_t kGpt3Vocab = 51'200;  // padded, as in the Megatron papers

Model zoo(const char* name) {
  return zoo_model(name).value();
}

Flops per_token(const char* convention, const Model& model, const FlopQuery& query) {
  const FlopConvention* row = find_flop_convention(convention);
  EXPECT_NE(row, nullptr) << convention;
  return row->per_token(model, query);
}

/// GPT-3 175B, batch 1536, sequence 2048.
Flops gpt3_iteration(const char* convention) {
  const FlopQuery query{.sequence = 2048, .vocab_rows = kGpt3Vocab};
  return 1536.0 * 2048.0 * per_token(convention, zoo("gpt3-175b"), query);
}

TEST(Flops, Oracle_O_017_gpt3_full_recompute_form) {
  expect_relative("O-017", 4.5109707533231e18, gpt3_iteration("megatron_2021_recompute").value,
                  kRounding);
}

TEST(Flops, Oracle_O_018_gpt3_form_without_recompute) {
  expect_relative("O-018", 3.3861967463873e18, gpt3_iteration("megatron_2021").value, kRounding);
}

TEST(Flops, Oracle_O_019_gpt3_causal_half) {
  expect_relative("O-019", 3.3405978001602e18, gpt3_iteration("megatron").value, kRounding);
}

// The 72-form is the sum over layers and head with all of attention: same model, two derivations.
TEST(Flops, PaperFormEqualsTheSumOverLayers) {
  expect_relative("72-form", gpt3_iteration("megatron_unhalved").value,
                  gpt3_iteration("megatron_2021").value, kRounding);
}

TEST(Flops, Oracle_O_020_time_of_an_iteration) {
  const FlopsPerSecond rate{1024.0 * 140e12};
  expect_relative("O-020", 31.46603483, (gpt3_iteration("megatron_2021_recompute") / rate).value,
                  kPrinted8);
}

constexpr PalmShape kPalm540b{.parameters = 540.35e9, .layers = 118, .heads = 48, .head_dim = 256};

TEST(Flops, Oracle_O_021_palm_540b) {
  expect_relative("O-021", 3'277'734'806'784.0, palm_flops_per_token(kPalm540b, 2048).value,
                  kRounding);
}

TEST(Flops, Oracle_O_022_palm_utilization) {
  const Flops per_second = 238.3e3 * palm_flops_per_token(kPalm540b, 2048);
  expect_relative("O-022", 0.462289,
                  flops_utilization(per_second, Seconds{1.0}, FlopsPerSecond{6144.0 * 275e12}),
                  kPrinted5);
}

// PaLM's own shape (arXiv:2204.02311, table 1): parallel layers, one key/value head, SwiGLU.
TEST(Flops, PalmFromTheModelsShape) {
  Model palm = zoo("llama2-7b");
  palm.layers = 118;
  palm.hidden = 18'432;
  palm.ffn = 4 * 18'432;
  palm.heads = 48;
  palm.kv_heads = 1;
  palm.head_dim = 256;
  palm.vocab = 256'000;
  palm.tied_embeddings = true;
  palm.parallel_block = true;
  expect_relative("PaLM 540B", 3'277'734'806'784.0,
                  per_token("palm", palm, {.sequence = 2048}).value, kRoundedSize);
}

TEST(Flops, Oracle_O_023_llama3_8b_causal) {
  expect_relative("O-023", 51'470'401'536.0,
                  per_token("megatron", zoo("llama3-8b"), {.sequence = 8192}).value, kExact);
}

TEST(Flops, Oracle_O_024_llama3_8b_unhalved) {
  expect_relative("O-024", 57'912'852'480.0,
                  per_token("megatron_unhalved", zoo("llama3-8b"), {.sequence = 8192}).value,
                  kExact);
}

TEST(Flops, Oracle_O_025_llama3_70b_causal) {
  expect_relative("O-025", 449'222'541'312.0,
                  per_token("megatron", zoo("llama3-70b"), {.sequence = 8192}).value, kExact);
}

TEST(Flops, Oracle_O_026_llama3_405b_training_run) {
  const Flops run = 15.6e12 * per_token("6N", zoo("llama3-405b"), {.sequence = 8192});
  expect_relative("O-026", 3.798787719e25, run.value, kPrinted9);
}

TEST(Flops, Oracle_O_027_deepseek_v3_forward) {
  const Model model =
      load_hf_config(WINDTUNNEL_SOURCE_DIR "/tests/models/architectures/data/deepseek-v3.json");
  expect_relative("O-027", 83'483'295'744.0,
                  forward_flops(model, {.sequence = 4096}, AttentionSpan::causal).value, kExact);
  expect_relative("O-027 core attention", 167'772'160.0,
                  layer_forward_flops(model, 0, 4096, AttentionSpan::causal).core_attention.value,
                  kExact);
}

TEST(Flops, SixNOfLlama3) {
  expect_relative("6N", 48'181'567'488.0,
                  per_token("6N", zoo("llama3-8b"), {.sequence = 8192}).value, kExact);
}

// The two differ by the input embedding's 6 V h and nothing else, since d_qk + d_v = 2 d.
TEST(Flops, TorchtitanIsPalmWithoutTheInputEmbedding) {
  const Model model = zoo("llama3-8b");
  const FlopQuery query{.sequence = 8192};
  const double palm = per_token("palm", model, query).value;
  expect_relative("torchtitan", palm - 6.0 * 128'256.0 * 4096.0,
                  per_token("torchtitan", model, query).value, kExact);
}

TEST(Flops, TorchtitanCountsATiedHeadOnce) {
  const Model model = zoo("gpt2");
  const FlopQuery query{.sequence = 1024};
  expect_relative("palm and torchtitan", per_token("palm", model, query).value,
                  per_token("torchtitan", model, query).value, kExact);
}

/// Layers whose only FLOPs are matrix products: a sequence so short that attention vanishes.
ExecutedQuery gemm_only(Recomputed recomputed) {
  return {.flops = {.sequence = 0, .vocab_rows = 0}, .recomputed = recomputed};
}

TEST(Flops, Oracle_O_028_backward_of_a_layer_of_products) {
  const Model model = zoo("llama3-8b");
  const double forward =
      layers_forward_flops(model, 8192, AttentionSpan::full).matrix_products().value;
  const double step = executed_flops_per_token(model, gemm_only(Recomputed::nothing)).value;
  expect_relative("O-028", 2.0, (step - forward) / forward, kExact);
}

TEST(Flops, Oracle_O_029_full_recompute_of_products) {
  const Model model = zoo("llama3-8b");
  const double ratio = executed_flops_per_token(model, gemm_only(Recomputed::layers)) /
                       executed_flops_per_token(model, gemm_only(Recomputed::nothing));
  expect_relative("O-029", 4.0 / 3.0, ratio, kExact);
}

TEST(Flops, Oracle_O_030_full_recompute_spares_the_head) {
  const Model model = zoo("llama3-8b");
  ExecutedQuery query{.flops = {.sequence = 8192}, .span = AttentionSpan::causal};
  const Flops plain = executed_flops_per_token(model, query);
  query.recomputed = Recomputed::layers;
  expect_relative("O-030", 1.3129201810, executed_flops_per_token(model, query) / plain, kPrinted9);
}

TEST(Flops, Oracle_O_031_selective_recompute_fraction) {
  const Model model = zoo("gpt3-175b");
  // The layers alone, as in the closed form: no head.
  const ExecutedQuery query{.flops = {.sequence = 2048, .vocab_rows = 0},
                            .recomputed = Recomputed::core_attention};
  ExecutedQuery plain = query;
  plain.recomputed = Recomputed::nothing;
  const double fraction =
      recompute_flops_per_token(model, query) / executed_flops_per_token(model, plain);
  const double s = 2048.0, h = 12'288.0;
  expect_relative("O-031 closed form", (s / (18.0 * h)) / (1.0 + s / (6.0 * h)), fraction,
                  kRounding);
  expect_relative("O-031", 0.009009009009, fraction, kPrinted8);
}

TEST(Flops, Oracle_O_033_flash_backward_executes_five_products) {
  expect_relative("O-033", 2.5, backward_factor(AttentionBackward::flash), kExact);
  const Model model = zoo("llama3-8b");
  ExecutedQuery query{.flops = {.sequence = 8192}, .span = AttentionSpan::causal};
  const Flops stored = executed_flops_per_token(model, query);
  query.backward = AttentionBackward::flash;
  const Flops extra = executed_flops_per_token(model, query) - stored;
  const Flops core = layers_forward_flops(model, 8192, AttentionSpan::causal).core_attention;
  expect_relative("O-033 extra", 0.5, extra / core, kExact);
}

// Without recomputation and with stored scores a device executes what megatron counts.
TEST(Flops, ExecutedWithoutExtrasIsTheConvention) {
  const Model model = zoo("llama3-70b");
  const ExecutedQuery query{.flops = {.sequence = 8192}, .span = AttentionSpan::causal};
  expect_relative("executed", per_token("megatron", model, query.flops).value,
                  executed_flops_per_token(model, query).value, kExact);
}

TEST(Flops, PartsOfALlamaLayer) {
  const LayerFlops one = layer_forward_flops(zoo("llama3-8b"), 0, 8192, AttentionSpan::causal);
  const double tokens = 8192.0;
  expect_relative("qkv", 412'316'860'416.0, tokens * one.qkv.value, kExact);
  expect_relative("proj", 274'877'906'944.0, tokens * one.proj.value, kExact);
  expect_relative("mlp", 1'924'145'348'608.0 + 962'072'674'304.0, tokens * one.mlp.value, kExact);
  expect_relative("head", 8'607'114'461'184.0, tokens * head_forward_flops(zoo("llama3-8b")).value,
                  kExact);
  expect_relative("core attention", 2.0 * 8192.0 * 4096.0, one.core_attention.value, kExact);
}

TEST(Flops, SlidingWindowBoundsTheKeys) {
  Model model = zoo("llama3-8b");
  model.sliding_window = 1024;
  const double full = layer_forward_flops(model, 0, 8192, AttentionSpan::full).core_attention.value;
  const double causal =
      layer_forward_flops(model, 0, 8192, AttentionSpan::causal).core_attention.value;
  expect_relative("full", 4.0 * 1024.0 * 4096.0, full, kExact);
  expect_relative("causal", 4.0 * (1024.0 - 64.0) * 4096.0, causal, kExact);
  model.sliding_window = 1'000'000;  // wider than the sequence: no window
  expect_relative("wide", 2.0 * 8192.0 * 4096.0,
                  layer_forward_flops(model, 0, 8192, AttentionSpan::causal).core_attention.value,
                  kExact);
}

TEST(Flops, LayersTakeTurnsInTheirKeys) {
  Model model = zoo("llama3-8b");  // 32 layers
  const double full = layers_forward_flops(model, 8192, AttentionSpan::causal).core_attention.value;
  model.sliding_window = 1024;
  model.layer_pattern.assign(6, LayerAttention::local);
  model.layer_pattern[5] = LayerAttention::full;
  // Layers 5, 11, 17, 23 and 29 see all; a local one (1024 - 64) of the 4096 keys on average.
  expect_relative("by turns", full * (5.0 + 27.0 * 960.0 / 4096.0) / 32.0,
                  layers_forward_flops(model, 8192, AttentionSpan::causal).core_attention.value,
                  kExact);
}

TEST(Flops, ConventionNamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const FlopConvention& row : flop_conventions()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_flop_convention(row.name), &row);
  }
  EXPECT_EQ(find_flop_convention("mfu"), nullptr);
}

}  // namespace
}  // namespace windtunnel
