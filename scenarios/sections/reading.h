#pragma once
// What section readers share: where problems go, where the places of keys are recorded, and tables
// of keys.
//
// A section is a table of `Key<T>` rows, one per key of the format: its name and a function from
// the written value into the struct `T`. `read_section` walks a mapping, finds each key's row,
// records its place under its dotted path and reports unknown keys with the nearest known one.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architectures/model.h"
#include "scenarios/problem_list.h"
#include "scenarios/yaml/tree.h"

namespace windtunnel {

/// What scenarios name (clusters, networks, models), each read once per load.
struct FileCache {
  std::map<std::string, std::shared_ptr<const YamlTree>> trees;  // null: could not be read
  std::map<std::string, std::optional<Model>> models;            // nullopt: none, or unreadable
};

/// The state of reading one scenario.
struct Reading {
  ProblemList& problems;
  FileCache& files;
  std::string directory;  // relative paths in the scenario start here
  std::map<std::string, SourcePosition>& positions;
  std::vector<SharedText>& sources;
  std::string path;  // dotted path of the value being read; empty at the scenario itself

  /// Adds a problem at `at`; the message starts with the path of the value.
  void problem(const YamlValue& at, const std::string& message, const std::string& hint) const;
};

template <class T>
struct Key {
  std::string_view name;
  void (*read)(Reading&, const YamlValue&, T&);
};

/// One row's position in its table; nullopt after reporting an unknown key.
std::optional<std::size_t> find_key(const Reading& reading, const YamlValue& key,
                                    const std::vector<std::string_view>& names);

/// False, with a problem, when the value is not a mapping.
bool is_section(const Reading& reading, const YamlValue& value);

/// False, with a problem, when the key has no value (`tp:` and nothing behind it).
bool has_value(const Reading& reading, const YamlValue& key, const YamlValue& value);

/// Records where `reading.path` stands: a scalar at its value, anything else at its key.
void record_place(Reading& reading, const YamlValue& key, const YamlValue& value);

/// Reports the names in `names` that the mapping lacks; `example` shows a complete section.
void require_keys(const Reading& reading, const YamlValue& map,
                  const std::vector<std::string_view>& names, std::string_view example);

/// "a.b" or "b" for an empty section.
std::string dotted(std::string_view section, std::string_view key);

template <class T, std::size_t N>
std::vector<std::string_view> key_names(const Key<T> (&table)[N]) {
  std::vector<std::string_view> names;
  for (const Key<T>& key : table) names.push_back(key.name);
  return names;
}

template <class T, std::size_t N>
void read_section(Reading& reading, const YamlValue& map, const Key<T> (&table)[N], T& into) {
  if (!is_section(reading, map)) return;
  const std::vector<std::string_view> names = key_names(table);
  const std::string section = reading.path;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const YamlValue key = map.key(i);
    const YamlValue value = map.value(i);
    if (const auto row = find_key(reading, key, names)) {
      reading.path = dotted(section, key.text());
      record_place(reading, key, value);
      if (has_value(reading, key, value)) table[*row].read(reading, value, into);
      reading.path = section;
    }
  }
}

}  // namespace windtunnel
