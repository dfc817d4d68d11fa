#pragma once
// The top level of a JSON object with the place of each key: what a config reader needs and no
// more.
//
// Nested objects and arrays are checked for syntax and counted, not kept, so memory stays bounded
// by the number of top-level keys however hostile the text. Refused with InputError at the place:
// text that is not JSON or not UTF-8, anything but an object at the top, a key given twice, nesting
// deeper than kMaxJsonDepth, more than kMaxJsonKeys keys.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/diagnostics.h"

namespace windtunnel {

constexpr int kMaxJsonDepth = 100;
constexpr std::size_t kMaxJsonKeys = 10'000;
constexpr std::uintmax_t kMaxJsonBytes = std::uintmax_t{16} << 20;

enum class JsonKind : std::uint8_t { null, boolean, integer, number, string, array, object };

struct JsonValue {
  JsonKind kind = JsonKind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0.0;  // of integers too; integers beyond 64 bits have kind number
  std::string string = {};
  std::size_t elements = 0;      // of an array or object, direct ones
  SourcePosition position = {};  // of the key
  std::string source_line = {};  // text of that line; empty when very long
};

using JsonObject = std::map<std::string, JsonValue, std::less<>>;

/// Reads `text`; `file` names it in errors.
JsonObject parse_json_object(std::string_view text, const std::string& file);

/// Reads a file of at most kMaxJsonBytes; larger ones, folders and devices are refused unread.
JsonObject load_json_object(const std::string& path);

}  // namespace windtunnel
