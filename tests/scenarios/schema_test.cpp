// docs/scenario.schema.json and the loader's tables know the same keys and words.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "scenarios/format_keys.h"

namespace windtunnel {
namespace {

using Json = nlohmann::json;
using Names = std::map<std::string, std::set<std::string>>;  // dotted path -> keys or words

/// Collects the keys and words of a schema by dotted path, references followed.
class SchemaWalk {
 public:
  explicit SchemaWalk(const Json& schema) : defs_(schema.at("$defs")) {
    walk(defs_.at("fragment"), "");
  }

  Names keys, words;

 private:
  void walk(const Json& node, const std::string& path) {
    if (!node.is_object()) return;
    if (node.contains("$ref")) {
      const std::string name =
          node["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
      walk(defs_.at(name), path);
    }
    for (const Json& choice : node.value("anyOf", Json::array())) walk(choice, path);
    if (node.contains("items")) walk(node["items"], path);
    for (const Json& word : node.value("enum", Json::array())) {
      words[path].insert(word.get<std::string>());
    }
    const Json properties = node.value("properties", Json::object());
    for (const auto& [key, below] : properties.items()) {
      keys[path].insert(key);
      walk(below, path.empty() ? key : path + "." + key);
    }
  }

  const Json& defs_;
};

Json schema() {
  std::ifstream in(std::filesystem::path(WINDTUNNEL_SOURCE_DIR) / "docs/scenario.schema.json");
  return Json::parse(in);
}

Names names_of(const std::vector<KeySection>& sections) {
  Names names;
  for (const KeySection& section : sections) {
    names[section.path].insert(section.keys.begin(), section.keys.end());
  }
  return names;
}

TEST(Schema, HasTheLoadersKeysAndNoOthers) {
  const Json root = schema();
  EXPECT_EQ(SchemaWalk(root).keys, names_of(format_sections()));
}

TEST(Schema, HasTheLoadersWordsAndNoOthers) {
  const Json root = schema();
  Names loader = names_of(format_words());
  EXPECT_EQ(SchemaWalk(root).words, loader);
}

TEST(Schema, ASetTakesTheLoadersKeys) {
  const Json root = schema();
  for (const Json& form : root.at("anyOf")) {
    if (form.at("title") != "set") continue;
    std::set<std::string> keys;
    const Json properties = form.at("properties");
    for (const auto& [key, below] : properties.items()) keys.insert(key);
    EXPECT_EQ(keys, (std::set<std::string>{"name", "source", "defaults", "scenarios"}));
    return;
  }
  FAIL() << "the schema has no set";
}

}  // namespace
}  // namespace windtunnel
