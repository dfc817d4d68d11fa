#pragma once
// Files that a scenario names: how a path is told from a name and where relative paths start.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/sections/reading.h"

namespace windtunnel {

/// A text with a slash or a file ending (.json, .yaml, .yml) is a path; anything else is a name.
bool is_path(std::string_view text);

/// The path `value` names, relative to the scenario's folder; of a folder, the file `inside` it.
/// nullopt after reporting that there is no such regular file.
std::optional<std::string> existing_file(const Reading& reading, const YamlValue& value,
                                         std::string_view inside);

/// The path `value` names, relative to the scenario's folder: of a regular file, or of none yet.
/// nullopt after reporting that something else is there.
std::optional<std::string> possible_file(const Reading& reading, const YamlValue& value);

/// The mapping in the YAML file at `path`, read once per load; null after reporting its problems,
/// at its own place the first time and at `value` after that.
std::shared_ptr<const YamlTree> file_tree(Reading& reading, const YamlValue& value,
                                          const std::string& path);

/// The file `name`.yaml in `folder` of the data files; nullopt after reporting the known names.
std::optional<std::string> named_file(const Reading& reading, const YamlValue& value,
                                      const std::string& folder);

}  // namespace windtunnel
