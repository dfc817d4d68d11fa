// Section `model`.

#include <fmt/format.h>

#include <filesystem>

#include "core/nearest_name.h"
#include "models/architectures/hf_config.h"
#include "models/architectures/model_problems.h"
#include "models/architectures/zoo.h"
#include "scenarios/sections/files.h"
#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

constexpr Key<MlaShape> kMlaKeys[] = {
    {"q_lora_rank", set<&MlaShape::q_lora_rank, not_negative>},
    {"kv_lora_rank", set<&MlaShape::kv_lora_rank, positive>},
    {"qk_nope_head_dim", set<&MlaShape::qk_nope_head_dim, positive>},
    {"qk_rope_head_dim", set<&MlaShape::qk_rope_head_dim, positive>},
    {"v_head_dim", set<&MlaShape::v_head_dim, positive>},
};

/// Load of the busiest expert over the mean.
std::optional<double> imbalance(const Reading& reading, const YamlValue& value) {
  const auto parsed = number(reading, value);
  if (!parsed || *parsed >= 1.0) return parsed;
  reading.problem(value, "is the largest load over the mean, at least 1", "1.0 is perfect balance");
  return std::nullopt;
}

constexpr Key<MoeShape> kMoeKeys[] = {
    {"experts", set<&MoeShape::experts, positive>},
    {"top_k", set<&MoeShape::top_k, positive>},
    {"ffn", set<&MoeShape::ffn, positive>},
    {"shared_experts", set<&MoeShape::shared_experts, not_negative>},
    {"dense_layers", set<&MoeShape::dense_layers, not_negative>},
    {"every", set<&MoeShape::every, positive>},
    {"capacity_factor", set_or_none<&MoeShape::capacity_factor, positive_number>},
    {"imbalance", set<&MoeShape::imbalance, imbalance>},
};

/// A model and which of its defaulted keys were written.
struct Draft {
  Model model;
  std::optional<NormKind> norm;
  std::optional<PositionKind> position;
  std::optional<bool> bias;
};

template <auto member, auto parse>
void set_model(Reading& reading, const YamlValue& value, Draft& into) {
  set<member, parse>(reading, value, into.model);
}

void read_mla(Reading& reading, const YamlValue& value, Draft& into) {
  read_section(reading, value, kMlaKeys, into.model.mla.emplace());
  require_keys(reading, value, key_names(kMlaKeys),
               "{q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, "
               "qk_rope_head_dim: 64, v_head_dim: 128}");
}

void read_moe(Reading& reading, const YamlValue& value, Draft& into) {
  read_section(reading, value, kMoeKeys, into.model.moe.emplace());
  require_keys(reading, value, {"experts", "top_k", "ffn"}, "{experts: 128, top_k: 8, ffn: 1536}");
}

void read_padded_vocab(Reading& reading, const YamlValue& value, Draft& into) {
  set_or_auto<&Model::vocab_padded_to, positive>(reading, value, into.model);
}

constexpr Key<Draft> kModelKeys[] = {
    {"name", set_model<&Model::name, free_text>},
    {"layers", set_model<&Model::layers, positive>},
    {"hidden", set_model<&Model::hidden, positive>},
    {"ffn", set_model<&Model::ffn, positive>},
    {"heads", set_model<&Model::heads, positive>},
    {"kv_heads", set_model<&Model::kv_heads, positive>},
    {"head_dim", set_model<&Model::head_dim, positive>},
    {"vocab", set_model<&Model::vocab, positive>},
    {"vocab_padded_to", read_padded_vocab},
    {"activation", set_model<&Model::activation, word<kActivationWords>>},
    {"norm", set<&Draft::norm, word<kNormWords>>},
    {"position", set<&Draft::position, word<kPositionWords>>},
    {"tied_embeddings", set_model<&Model::tied_embeddings, boolean>},
    {"bias", set<&Draft::bias, boolean>},
    {"dropout", set_model<&Model::dropout, boolean>},
    {"sliding_window", set_model<&Model::sliding_window, positive>},
    {"layer_pattern", set_model<&Model::layer_pattern, list_of<word<kLayerAttentionWords>>>},
    {"parallel_block", set_model<&Model::parallel_block, boolean>},
    {"mla", read_mla},
    {"moe", read_moe},
    {"mtp_layers", set_model<&Model::mtp_layers, not_negative>},
};

/// The fixed defaults of the format.
Model with_defaults(Draft draft) {
  Model& model = draft.model;
  const bool gated = model.gated();
  model.norm = draft.norm.value_or(gated ? NormKind::rmsnorm : NormKind::layernorm);
  model.position = draft.position.value_or(gated ? PositionKind::rope : PositionKind::learned);
  model.bias = draft.bias.value_or(model.norm == NormKind::layernorm);
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  return std::move(draft.model);
}

/// Multi-head latent attention states its own head widths; head_dim is then the query's.
void derive_head_dim(Reading& reading, const YamlValue& value, Model& model) {
  if (model.head_dim != 0 || model.heads == 0 || model.hidden == 0) return;
  if (model.mla) {
    model.head_dim = model.mla->qk_nope_head_dim + model.mla->qk_rope_head_dim;
  } else if (model.hidden % model.heads == 0) {
    model.head_dim = model.hidden / model.heads;
  } else {
    reading.problem(
        value.find("heads").value_or(value),
        fmt::format("`hidden` {} is not a multiple of `heads` {}", model.hidden, model.heads),
        "give `head_dim` when heads * head_dim is not hidden");
  }
}

/// A mixture of experts without dense layers needs no `ffn`.
bool needs_ffn(const Model& model) {
  return !model.moe || model.moe->dense_layers > 0 || model.moe->every > 1;
}

void read_mapping(Reading& reading, const YamlValue& value, Model& into) {
  const std::size_t before = reading.problems.added();
  Draft draft;
  read_section(reading, value, kModelKeys, draft);
  constexpr std::string_view kExample =
      "{layers: 32, hidden: 4096, ffn: 14336, heads: 32, kv_heads: 8, vocab: 128256, "
      "activation: swiglu}";
  std::vector<std::string_view> required = {"layers", "hidden", "heads", "vocab"};
  if (needs_ffn(draft.model)) required.push_back("ffn");
  require_keys(reading, value, required, kExample);
  into = with_defaults(std::move(draft));
  if (reading.problems.added() == before) derive_head_dim(reading, value, into);
  if (reading.problems.added() != before) return;
  for (const ModelProblem& problem : model_problems(into)) {
    if (problem.field == "ffn" && !needs_ffn(into)) continue;
    const std::string key = problem.field.substr(0, problem.field.find('.'));
    reading.problem(value.find(key).value_or(value), problem.message, "");
  }
}

const std::optional<Model>& cached_zoo_model(Reading& reading, const std::string& name) {
  const auto cached = reading.files.models.find(name);
  if (cached != reading.files.models.end()) return cached->second;
  return reading.files.models.emplace(name, zoo_model(name)).first->second;
}

/// A config file's model, from the cache after the first time; nullopt after reporting why not.
std::optional<Model> config_model(Reading& reading, const std::string& path) {
  const auto cached = reading.files.models.find(path);
  if (cached != reading.files.models.end()) return cached->second;
  std::optional<Model> model;
  try {
    model = load_hf_config(path);
  } catch (const InputError& error) {
    reading.problems.add_all(error.diagnostics);
  }
  return reading.files.models.emplace(path, std::move(model)).first->second;
}

void read_config(Reading& reading, const YamlValue& value, Model& into) {
  const auto path = existing_file(reading, value, "config.json");
  if (!path) return;
  const std::size_t before = reading.problems.added();
  if (const auto model = config_model(reading, *path)) {
    into = *model;
  } else if (reading.problems.added() == before) {
    reading.problem(value, "the config file has errors", "");
  }
}

void read_name(Reading& reading, const YamlValue& value, Model& into) {
  const std::string name(value.text());
  if (is_path(name)) return read_config(reading, value, into);
  if (const auto& known = cached_zoo_model(reading, name)) {
    into = *known;
    return;
  }
  const std::vector<std::string> names = zoo_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string hint = "known models: " + join_names(views) +
                     "; or the path of a Hugging Face config.json, or a mapping";
  if (const auto near = nearest_name(name, views)) {
    hint = fmt::format("did you mean `{}`? {}", *near, hint);
  }
  reading.problem(value, fmt::format("no model is called {}", in_quotes(name)), hint);
}

}  // namespace

void read_model(Reading& reading, const YamlValue& value, Model& into) {
  if (value.is_scalar()) {
    read_name(reading, value, into);
  } else {
    read_mapping(reading, value, into);
  }
}

std::vector<KeySection> model_keys() {
  return {{"model", key_names(kModelKeys)},
          {"model.mla", key_names(kMlaKeys)},
          {"model.moe", key_names(kMoeKeys)}};
}

}  // namespace windtunnel
