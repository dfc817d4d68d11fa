#pragma once
// Names of enums as a profile writes them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "models/cost/profile_fields.h"

namespace windtunnel {

/// The names of all values from 0 to `last`.
template <class Enum>
std::vector<std::string_view> enum_names(Enum last) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
    names.emplace_back(name_of(static_cast<Enum>(i)));
  }
  return names;
}

/// The value that `text` names, out of names in the order of the enum.
template <class Enum>
std::optional<Enum> value_named(std::string_view text, const std::vector<std::string_view>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

/// The value named by a text field; an unknown one is noted.
template <class Enum>
std::optional<Enum> named(ProfileFields& in, const LocatedJson& map, std::string_view key,
                          const std::vector<std::string_view>& names) {
  const std::string text = in.text(map, key);
  const std::optional<Enum> value = value_named<Enum>(text, names);
  if (value) return value;
  const LocatedJson* at = map.find(std::string(key));
  if (at != nullptr && at->kind == LocatedJson::Kind::text) {
    in.note(*at, "unknown " + std::string(key) + " '" + text + "'", "known: " + join_names(names));
  }
  return std::nullopt;
}

}  // namespace windtunnel
