#include "scenarios/sections/reading.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest_name.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

void Reading::problem(const YamlValue& at, const std::string& message,
                      const std::string& hint) const {
  const std::string named = path.empty() ? message : fmt::format("`{}`: {}", path, message);
  problems.add(at.diagnostic(named, hint));
}

std::optional<std::size_t> find_key(const Reading& reading, const YamlValue& key,
                                    const std::vector<std::string_view>& names) {
  const auto found = std::find(names.begin(), names.end(), key.text());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string hint = "allowed: " + join_names(names);
  if (const auto near = nearest_name(key.text(), names)) {
    hint = fmt::format("did you mean `{}`? {}", *near, hint);
  }
  reading.problem(key, fmt::format("unknown key {}", in_quotes(key.text())), hint);
  return std::nullopt;
}

bool is_section(const Reading& reading, const YamlValue& value) {
  if (value.is_map()) return true;
  const char* subject = reading.path.empty() ? "a scenario " : "";
  reading.problem(value, fmt::format("{}must be a mapping, not {}", subject, value.described()),
                  "write it as {key: value, ...}");
  return false;
}

bool has_value(const Reading& reading, const YamlValue& key, const YamlValue& value) {
  if (value.kind() != NodeKind::null) return true;
  reading.problem(key, "has no value", "give one, or leave the key out to take its default");
  return false;
}

void record_place(Reading& reading, const YamlValue& key, const YamlValue& value) {
  reading.positions[reading.path] = value.is_scalar() ? value.position() : key.position();
}

void require_keys(const Reading& reading, const YamlValue& map,
                  const std::vector<std::string_view>& names, std::string_view example) {
  if (!map.is_map()) return;
  std::string missing;
  std::size_t count = 0;
  for (const std::string_view name : names) {
    if (map.find(name)) continue;
    missing += fmt::format("{}`{}`", count++ == 0 ? "" : ", ", name);
  }
  if (count == 0) return;
  reading.problem(map, fmt::format("{} {} missing", missing, count == 1 ? "is" : "are"),
                  fmt::format("for example {}", example));
}

std::string dotted(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

}  // namespace windtunnel
