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

/// Every key a zoo file has; each file has exactly these.
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

Model read_zoo_file(const ZooFile& file) {
  const YAML::Node root = YAML::Load(std::string(file.yaml));
  CHECK(root.IsMap() && root.size() == std::size(kKeys), "zoo: a file has every key once");
  Model model;
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>();
    const auto* row =
        std::ranges::find(kKeys, key, [](const ZooKey& k) -> std::string_view { return k.name; });
    CHECK(row != std::end(kKeys), "zoo: unknown key " + key);
    row->set(model, entry.second);
  }
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
