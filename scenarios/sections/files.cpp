#include "scenarios/sections/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/data_dir.h"
#include "core/nearest_name.h"
#include "scenarios/yaml/parse.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> yaml_stems(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json") ||
         text.ends_with(".yaml") || text.ends_with(".yml");
}

std::optional<std::string> existing_file(const Reading& reading, const YamlValue& value,
                                         std::string_view inside) {
  std::error_code error;
  fs::path path = fs::path(reading.directory) / fs::path(std::string(value.text()));
  if (!inside.empty() && fs::is_directory(path, error)) path /= std::string(inside);
  if (fs::is_regular_file(path, error)) return path.lexically_normal().string();
  reading.problem(value, fmt::format("there is no file {}", in_quotes(path.string())),
                  "relative paths start at the scenario's folder");
  return std::nullopt;
}

std::optional<std::string> possible_file(const Reading& reading, const YamlValue& value) {
  std::error_code error;
  const fs::path path = fs::path(reading.directory) / fs::path(std::string(value.text()));
  if (fs::exists(path, error) || error) return existing_file(reading, value, "");
  return path.lexically_normal().string();
}

std::shared_ptr<const YamlTree> file_tree(Reading& reading, const YamlValue& value,
                                          const std::string& path) {
  const auto cached = reading.files.trees.find(path);
  if (cached != reading.files.trees.end()) {
    if (cached->second == nullptr) reading.problem(value, in_quotes(path) + " has errors", "");
    return cached->second;
  }
  std::shared_ptr<const YamlTree> tree;
  try {
    tree = std::make_shared<const YamlTree>(parse_yaml(read_source(path)));
  } catch (const InputError& error) {
    reading.problems.add_all(error.diagnostics);
  }
  return reading.files.trees.emplace(path, std::move(tree)).first->second;
}

std::optional<std::string> named_file(const Reading& reading, const YamlValue& value,
                                      const std::string& folder) {
  const fs::path root = fs::path(data_dir()) / folder;
  const std::string name(value.text());
  std::error_code error;
  const fs::path path = root / (name + ".yaml");
  if (!name.empty() && !is_path(name) && fs::is_regular_file(path, error)) return path.string();
  const std::vector<std::string> names = yaml_stems(root);
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string hint = names.empty() ? "no names are known" : "known names: " + join_names(views);
  if (const auto near = nearest_name(name, views)) {
    hint = fmt::format("did you mean `{}`? {}", *near, hint);
  }
  reading.problem(value, fmt::format("no file {} in {}", in_quotes(name + ".yaml"), folder), hint);
  return std::nullopt;
}

}  // namespace windtunnel
