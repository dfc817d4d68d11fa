#include "scenarios/sections/scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/nearest_name.h"
#include "core/quantity_text.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_integer_text(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return is_digits(text);
}

/// Octal, hexadecimal and binary spellings of YAML 1.1 and 1.2: 010, 0o10, 0x8, 0b1.
bool is_other_base(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.size() < 2 || text.front() != '0') return false;
  const char mark = text[1];
  return is_digits(text) || mark == 'o' || mark == 'O' || mark == 'x' || mark == 'X' ||
         mark == 'b' || mark == 'B';
}

/// YAML 1.2 core float without infinities: [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) exponent?
bool is_float_text(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const bool starts = !text.empty() && (is_digits(text.substr(0, 1)) || text.front() == '.');
  return starts && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

std::string integer_hint(const YamlValue& value) {
  const std::string_view text = value.text();
  if (!value.is_scalar()) return "";
  if (!value.plain() && is_integer_text(text)) return "write it without quotes";
  if (is_other_base(text)) return "numbers are decimal, without leading zeros";
  if (is_float_text(text)) return "write it in digits, without a point or an exponent";
  return "a bare number, for example 8";
}

template <class Q>
std::optional<Q> quantity(const Reading& reading, const YamlValue& value,
                          ParsedQuantity<Q> (*parse)(std::string_view)) {
  ParsedQuantity<Q> parsed = parse(value.text());
  if (value.is_scalar() && parsed.ok()) return parsed.value;
  if (!value.is_scalar()) parsed.problem = "is not a number with a unit";
  reading.problem(value, fmt::format("{} {}", value.described(), parsed.problem), parsed.hint);
  return std::nullopt;
}

}  // namespace

bool is_word(const YamlValue& value, std::string_view text) {
  return value.is_scalar() && value.text() == text;
}

std::optional<bool> boolean(const Reading& reading, const YamlValue& value) {
  const std::string_view text = value.text();
  if (value.plain()) {
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
  }
  std::string hint = "true or false";
  for (const std::string_view yes : {"yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "1"}) {
    if (text == yes) hint = "write true";
  }
  for (const std::string_view no : {"no", "No", "NO", "off", "Off", "OFF", "n", "N", "0"}) {
    if (text == no) hint = "write false";
  }
  if (text == "true" || text == "false") hint = "write it without quotes";
  reading.problem(value, fmt::format("must be true or false, not {}", value.described()), hint);
  return std::nullopt;
}

std::optional<std::string> free_text(const Reading& reading, const YamlValue& value) {
  if (value.is_scalar()) return std::string(value.text());
  reading.problem(value, fmt::format("must be text, not {}", value.described()), "");
  return std::nullopt;
}

std::optional<double> number(const Reading& reading, const YamlValue& value) {
  std::string_view text = value.text();
  double parsed = 0.0;
  if (value.plain() && is_float_text(text) && !is_other_base(text.substr(0, text.find('.')))) {
    if (text.front() == '+') text.remove_prefix(1);
    const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (status == std::errc{} && rest == text.data() + text.size()) return parsed;
    if (status == std::errc::result_out_of_range) {
      reading.problem(value, fmt::format("{} is out of range", value.described()), "");
      return std::nullopt;
    }
  }
  reading.problem(value, fmt::format("must be a number, not {}", value.described()),
                  "a bare decimal number, for example 1.5");
  return std::nullopt;
}

std::optional<double> fraction(const Reading& reading, const YamlValue& value) {
  const auto parsed = number(reading, value);
  if (!parsed || (*parsed >= 0.0 && *parsed <= 1.0)) return parsed;
  reading.problem(value, fmt::format("must be between 0 and 1, not {}", value.described()), "");
  return std::nullopt;
}

std::optional<double> positive_number(const Reading& reading, const YamlValue& value) {
  const auto parsed = number(reading, value);
  if (!parsed || *parsed > 0.0) return parsed;
  reading.problem(value, fmt::format("must be above 0, not {}", value.described()), "");
  return std::nullopt;
}

std::optional<Seconds> seconds(const Reading& reading, const YamlValue& value) {
  return quantity<Seconds>(reading, value, parse_seconds);
}
std::optional<Bytes> bytes(const Reading& reading, const YamlValue& value) {
  return quantity<Bytes>(reading, value, parse_bytes);
}
std::optional<BytesPerSecond> bandwidth(const Reading& reading, const YamlValue& value) {
  return quantity<BytesPerSecond>(reading, value, parse_bytes_per_second);
}

std::optional<std::int64_t> whole_number(const Reading& reading, const YamlValue& value,
                                         std::int64_t low, std::int64_t high) {
  std::string_view text = value.text();
  std::int64_t parsed = 0;
  if (!value.plain() || !is_integer_text(text) || is_other_base(text)) {
    reading.problem(value, fmt::format("must be a whole number, not {}", value.described()),
                    integer_hint(value));
    return std::nullopt;
  }
  if (text.front() == '+') text.remove_prefix(1);
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (status == std::errc{} && parsed >= low && parsed <= high) return parsed;
  reading.problem(value, fmt::format("{} is out of range", value.described()),
                  fmt::format("a whole number from {} to {}", low, high));
  return std::nullopt;
}

std::optional<std::int64_t> positive(const Reading& reading, const YamlValue& value) {
  return whole_number(reading, value, 1, kMaxCount);
}
std::optional<std::int64_t> not_negative(const Reading& reading, const YamlValue& value) {
  return whole_number(reading, value, 0, kMaxCount);
}
std::optional<int> degree(const Reading& reading, const YamlValue& value) {
  const auto parsed = whole_number(reading, value, 1, kMaxDegree);
  return parsed ? std::optional<int>(static_cast<int>(*parsed)) : std::nullopt;
}
std::optional<int> index_number(const Reading& reading, const YamlValue& value) {
  const auto parsed = whole_number(reading, value, 0, kMaxDegree);
  return parsed ? std::optional<int>(static_cast<int>(*parsed)) : std::nullopt;
}

bool is_list(const Reading& reading, const YamlValue& value) {
  if (value.is_sequence()) return true;
  reading.problem(value, fmt::format("must be a list, not {}", value.described()),
                  "write it as [a, b]");
  return false;
}

std::optional<std::size_t> find_word(const Reading& reading, const YamlValue& value,
                                     const std::vector<std::string_view>& words) {
  const auto found = std::find(words.begin(), words.end(), value.text());
  if (value.is_scalar() && found != words.end()) {
    return static_cast<std::size_t>(found - words.begin());
  }
  std::string hint = "allowed: " + join_names(words);
  if (const auto near = nearest_name(value.text(), words)) {
    hint = fmt::format("did you mean `{}`? {}", *near, hint);
  }
  reading.problem(value, fmt::format("{} is not one of its values", value.described()), hint);
  return std::nullopt;
}

}  // namespace windtunnel
