#pragma once
// Which bytes are text: UTF-8 (RFC 3629: shortest form, no surrogates, at most U+10FFFF) without
// the control characters that YAML 1.2 (section 5.1) leaves out of its printable set.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace windtunnel {

struct BadCharacter {
  std::size_t offset = 0;
  std::string message;
};

/// The first byte that is not text; nullopt when all of it is. Tab, line feed and carriage return
/// are text.
std::optional<BadCharacter> first_bad_character(std::string_view text);

/// The text in double quotes for a message: cut to `kQuotedBytes`, control characters as \xNN.
std::string in_quotes(std::string_view text);
constexpr std::size_t kQuotedBytes = 60;

}  // namespace windtunnel
