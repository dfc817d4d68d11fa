#include "models/architectures/model_features.h"

namespace windtunnel {
namespace {

struct Feature {
  const char* name;
  bool (*present)(const Model& model);
};

constexpr Feature kFeatures[] = {
    {"moe", [](const Model& m) { return m.moe.has_value(); }},
    {"mla", [](const Model& m) { return m.mla.has_value(); }},
    {"mtp_layers", [](const Model& m) { return m.mtp_layers > 0; }},
    {"sliding_window", [](const Model& m) { return m.sliding_window.has_value(); }},
    {"layer_pattern", [](const Model& m) { return !m.layer_pattern.empty(); }},
    {"parallel_block", [](const Model& m) { return m.parallel_block; }},
    {"qkv_bias", [](const Model& m) { return m.qkv_bias && !m.bias; }},
    {"qk_norm", [](const Model& m) { return m.qk_norm; }},
};

}  // namespace

std::vector<std::string> features_beyond_dense(const Model& model) {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    if (feature.present(model)) names.emplace_back(feature.name);
  }
  return names;
}

}  // namespace windtunnel
