#pragma once
// One written scalar to one value, and the setters that put it into a struct.
//
// Every reader returns nullopt after reporting a problem at the value. YAML 1.2's core booleans
// only; integers in decimal without point or exponent; quantities as in core/quantity_text.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "scenarios/sections/reading.h"
#include "scenarios/words.h"

namespace windtunnel {

std::optional<bool> boolean(const Reading& reading, const YamlValue& value);
/// Any scalar as it is written.
std::optional<std::string> free_text(const Reading& reading, const YamlValue& value);
/// Any finite decimal number, integers among them.
std::optional<double> number(const Reading& reading, const YamlValue& value);
/// A number in [0, 1].
std::optional<double> fraction(const Reading& reading, const YamlValue& value);
/// A number above 0.
std::optional<double> positive_number(const Reading& reading, const YamlValue& value);

std::optional<Seconds> seconds(const Reading& reading, const YamlValue& value);
std::optional<Bytes> bytes(const Reading& reading, const YamlValue& value);
std::optional<BytesPerSecond> bandwidth(const Reading& reading, const YamlValue& value);

/// A whole number in [low, high].
std::optional<std::int64_t> whole_number(const Reading& reading, const YamlValue& value,
                                         std::int64_t low, std::int64_t high);

/// Far above anything built, and low enough that products of a few stay inside 64 bits.
constexpr std::int64_t kMaxCount = 1'000'000'000'000;
/// Degrees, nodes, devices of a node.
constexpr std::int64_t kMaxDegree = 1'000'000;

std::optional<std::int64_t> positive(const Reading& reading, const YamlValue& value);
std::optional<std::int64_t> not_negative(const Reading& reading, const YamlValue& value);
std::optional<int> degree(const Reading& reading, const YamlValue& value);
/// A rank or node number.
std::optional<int> index_number(const Reading& reading, const YamlValue& value);

/// Reports a value that is not a list.
bool is_list(const Reading& reading, const YamlValue& value);

/// Reports a text that is none of `words`; nullopt.
std::optional<std::size_t> find_word(const Reading& reading, const YamlValue& value,
                                     const std::vector<std::string_view>& words);

/// The value of a word of `table` (words.h).
template <const auto& table>
auto word(const Reading& reading, const YamlValue& value)
    -> std::optional<decltype(table[0].value)> {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.text);
  if (const auto row = find_word(reading, value, names)) return table[*row].value;
  return std::nullopt;
}

/// True when the value is the bare word `text`.
bool is_word(const YamlValue& value, std::string_view text);

/// Setters: rows of key tables. `set` leaves the member alone after a problem.
template <auto member, auto parse, class T>
void set(Reading& reading, const YamlValue& value, T& into) {
  if (auto parsed = parse(reading, value)) into.*member = std::move(*parsed);
}
/// As `set`; the word `auto` (or `none`) empties the optional member.
template <auto member, auto parse, class T>
void set_or_auto(Reading& reading, const YamlValue& value, T& into) {
  if (is_word(value, "auto")) {
    into.*member = std::nullopt;
  } else {
    set<member, parse>(reading, value, into);
  }
}
template <auto member, auto parse, class T>
void set_or_none(Reading& reading, const YamlValue& value, T& into) {
  if (is_word(value, "none")) {
    into.*member = std::nullopt;
  } else {
    set<member, parse>(reading, value, into);
  }
}

/// Every item of a list with `parse`; nullopt when it is not a list or an item has a problem.
template <auto parse>
auto list_of(Reading& reading, const YamlValue& value)
    -> std::optional<std::vector<typename decltype(parse(reading, value))::value_type>> {
  if (!is_list(reading, value)) return std::nullopt;
  std::vector<typename decltype(parse(reading, value))::value_type> items;
  items.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (auto item = parse(reading, value.item(i))) items.push_back(std::move(*item));
  }
  if (items.size() != value.size()) return std::nullopt;
  return items;
}

}  // namespace windtunnel
