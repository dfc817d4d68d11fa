// Do models have the parameters that transformers makes for the same config?

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/architectures/hf_config.h"
#include "models/architectures/parameters.h"
#include "models/architectures/zoo.h"
#include "tests/peers/recordings.h"

namespace windtunnel::peers {
namespace {

/// DeepSeek-V3 selects experts with a bias each, which transformers keeps as a buffer: 58 layers of
/// 256 experts.
constexpr std::int64_t kRouterBiases = 14'848;

/// "key=value key=value" as a config.json.
std::string config_json(const std::string& text) {
  Json config;
  std::stringstream in(text);
  for (std::string pair; in >> pair;) {
    const std::size_t at = pair.find('=');
    const std::string value = pair.substr(at + 1);
    Json& field = config[pair.substr(0, at)];
    if (value == "True" || value == "False") {
      field = value == "True";
    } else if (value.find_first_not_of("0123456789") == std::string::npos) {
      field = std::stoll(value);
    } else {
      field = value;
    }
  }
  return config.dump();
}

void expect_counts(const std::string& name, const Json& recorded, const Model& model) {
  const ParameterCount count = count_parameters(model);
  const std::int64_t biases = model.moe && model.moe->router_bias ? kRouterBiases : 0;
  EXPECT_EQ(count.total(), recorded.at("total").get<std::int64_t>() + biases) << name;
  EXPECT_EQ(count.embedding, recorded.at("embedding").get<std::int64_t>()) << name;
  EXPECT_EQ(model.tied_embeddings, recorded.at("tied").get<bool>()) << name;
  if (recorded.contains("active")) {
    // The biases take part in no product.
    EXPECT_EQ(count.active(), recorded.at("active").get<std::int64_t>()) << name;
  } else {
    EXPECT_EQ(count.active(), count.total()) << name;
  }
}

TEST(PeerCounts, OfEveryConfig) {
  const Json file = load_recording("counts");
  for (const auto& [name, recorded] : file.at("models").items()) {
    const std::string text = config_json(recorded.at("config").get<std::string>());
    expect_counts(name, recorded, parse_hf_config(text, name));
  }
}

TEST(PeerCounts, OfTheZoo) {
  const Json file = load_recording("counts");
  int compared = 0;
  for (const std::string& name : zoo_names()) {
    if (!file.at("models").contains(name)) continue;
    expect_counts(name, file.at("models").at(name), zoo_model(name).value());
    ++compared;
  }
  EXPECT_EQ(compared, 13);
}

}  // namespace
}  // namespace windtunnel::peers
