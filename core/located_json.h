#pragma once
// JSON values that know where they stand in their file, so that every complaint has a line.
//
// Read through nlohmann's SAX interface, which keeps its own stack: nesting is bounded here, and so
// are file size, the number of values and duplicate keys, before any tree walk. Numbers are
// doubles: whole ones are exact up to 2^53.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostics.h"

namespace windtunnel {

struct LocatedJson {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, map };
  Kind kind = Kind::null;
  double number = 0.0;
  bool boolean = false;
  std::string text{};
  std::vector<LocatedJson> items{};                            // list
  std::vector<std::pair<std::string, LocatedJson>> members{};  // map, in the file's order
  int line = 0, column = 0;                                    // of the value's end

  const LocatedJson* find(const std::string& key) const;
};

/// The file's one value. Throws InputError: unreadable, over 16 MiB, not JSON, nested over 32 deep,
/// over 2^20 values, a key twice in one map, a number that is not finite.
LocatedJson read_located_json(const std::string& path);

/// The same from text; `file` names it in diagnostics.
LocatedJson parse_located_json(const std::string& text, const std::string& file);

}  // namespace windtunnel
