#include "models/architectures/zoo.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/check.h"
#include "models/architectures/model_problems.h"
#include "models/architectures/zoo_files.h"

namespace windtunnel {
namespace {

template <class Value, std::size_t N>
Value choose(const std::string& text, const std::array<std::pair<const char*, Value>, N>& rows) {
  for (const auto& [name, value] : rows) {
    if (text == name) return value;
  }
  fail_check("known word", "zoo: unknown value " + text, __FILE__, __LINE__);
}

constexpr std::array<std::pair<const char*, Activation>, 4> kActivations{
    {{"gelu", Activation::gelu},
     {"swiglu", Activation::swiglu},
     {"geglu", Activation::geglu},
     {"relu2", Activation::relu2}}};
constexpr std::array<std::pair<const char*, NormKind>, 2> kNorms{
    {{"layernorm", NormKind::layernorm}, {"rmsnorm", NormKind::rmsnorm}}};
constexpr std::array<std::pair<const char*, PositionKind>, 3> kPositions{
    {{"learned", PositionKind::learned},
     {"rope", PositionKind::rope},
     {"alibi", PositionKind::alibi}}};

struct ZooKey {
  const char* name;
  void (*set)(Model& model, const YAML::Node& value);
};

std::int64_t count_of(const YAML::Node& value) {
  return value.as<std::int64_t>();
}

/// Every key a zoo file has.
constexpr ZooKey kKeys[] = {
    {"name", [](Model& m, const YAML::Node& v) { m.name = v.as<std::string>(); }},
    {"layers", [](Model& m, const YAML::Node& v) { m.layers = count_of(v); }},
    {"hidden", [](Model& m, const YAML::Node& v) { m.hidden = count_of(v); }},
    {"ffn", [](Model& m, const YAML::Node& v) { m.ffn = count_of(v); }},
    {"heads", [](Model& m, const YAML::Node& v) { m.heads = count_of(v); }},
    {"kv_heads", [](Model& m, const YAML::Node& v) { m.kv_heads = count_of(v); }},
    {"head_dim", [](Model& m, const YAML::Node& v) { m.head_dim = count_of(v); }},
    {"vocab", [](Model& m, const YAML::Node& v) { m.vocab = count_of(v); }},
    {"max_positions", [](Model& m, const YAML::Node& v) { m.max_positions = count_of(v); }},
    {"activation",
     [](Model& m, const YAML::Node& v) {
       m.activation = choose(v.as<std::string>(), kActivations);
     }},
    {"norm", [](Model& m, const YAML::Node& v) { m.norm = choose(v.as<std::string>(), kNorms); }},
    {"position",
     [](Model& m, const YAML::Node& v) { m.position = choose(v.as<std::string>(), kPositions); }},
    {"tied_embeddings", [](Model& m, const YAML::Node& v) { m.tied_embeddings = v.as<bool>(); }},
    {"bias", [](Model& m, const YAML::Node& v) { m.bias = v.as<bool>(); }},
    {"dropout", [](Model& m, const YAML::Node& v) { m.dropout = v.as<bool>(); }},
    {"embedding_norm", [](Model& m, const YAML::Node& v) { m.embedding_norm = v.as<bool>(); }},
};

MoeShape moe_of(const YAML::Node& v) {
  const auto of = [&v](const char* key, std::int64_t fallback) {
    return v[key] ? count_of(v[key]) : fallback;
  };
  return {.experts = count_of(v["experts"]),
          .top_k = count_of(v["top_k"]),
          .ffn = count_of(v["ffn"]),
          .shared_experts = of("shared_experts", 0),
          .dense_layers = of("dense_layers", 0),
          .every = of("every", 1),
          .router_bias = v["router_bias"] && v["router_bias"].as<bool>()};
}

MlaShape mla_of(const YAML::Node& v) {
  return {.q_lora_rank = count_of(v["q_lora_rank"]),
          .kv_lora_rank = count_of(v["kv_lora_rank"]),
          .qk_nope_head_dim = count_of(v["qk_nope_head_dim"]),
          .qk_rope_head_dim = count_of(v["qk_rope_head_dim"]),
          .v_head_dim = count_of(v["v_head_dim"])};
}

/// Keys of what only some models have.
constexpr ZooKey kFeatureKeys[] = {
    {"qk_norm", [](Model& m, const YAML::Node& v) { m.qk_norm = v.as<bool>(); }},
    {"moe", [](Model& m, const YAML::Node& v) { m.moe = moe_of(v); }},
    {"mla", [](Model& m, const YAML::Node& v) { m.mla = mla_of(v); }},
    {"mtp_layers", [](Model& m, const YAML::Node& v) { m.mtp_layers = count_of(v); }},
};

const ZooKey* find_key(std::span<const ZooKey> keys, const std::string& name) {
  const auto found =
      std::ranges::find(keys, name, [](const ZooKey& k) -> std::string_view { return k.name; });
  return found == keys.end() ? nullptr : &*found;
}

Model read_zoo_file(const ZooFile& file) {
  const YAML::Node root = YAML::Load(std::string(file.yaml));
  CHECK(root.IsMap(), "zoo: a file is a mapping");
  std::size_t required = 0;
  Model model;
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>();
    const ZooKey* row = find_key(kKeys, key);
    if (row != nullptr) ++required;
    if (row == nullptr) row = find_key(kFeatureKeys, key);
    CHECK(row != nullptr, "zoo: unknown key " + key);
    row->set(model, entry.second);
  }
  CHECK(required == std::size(kKeys), "zoo: a file has every key of a dense model once");
  CHECK(model.name == file.name, "zoo: name and file name differ");
  CHECK(model_problems(model).empty(), "zoo: bad sizes in " + model.name);
  return model;
}

}  // namespace

std::optional<Model> zoo_model(std::string_view name) {
  for (const ZooFile& file : zoo_files()) {
    if (file.name == name) return read_zoo_file(file);
  }
  return std::nullopt;
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooFile& file : zoo_files()) names.emplace_back(file.name);
  return names;
}

}  // namespace windtunnel
