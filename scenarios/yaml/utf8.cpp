#include "scenarios/yaml/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace windtunnel {

namespace {

/// Length of a sequence by its first byte, and the smallest value that needs it.
struct Lead {
  std::size_t length;
  std::uint32_t bits, smallest;
};

std::optional<Lead> lead_of(unsigned char byte) {
  if (byte < 0x80U) return Lead{1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return Lead{2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return Lead{3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return Lead{4, byte & 0x07U, 0x10000};
  return std::nullopt;
}

/// The code point at the start of `text` and its length; nullopt when it is not UTF-8.
std::optional<std::pair<std::uint32_t, std::size_t>> decode(std::string_view text) {
  const auto lead = lead_of(static_cast<unsigned char>(text[0]));
  if (!lead || lead->length > text.size()) return std::nullopt;
  std::uint32_t point = lead->bits;
  for (std::size_t i = 1; i < lead->length; ++i) {
    const unsigned char byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return std::nullopt;
    point = (point << 6) | (byte & 0x3FU);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < lead->smallest || surrogate || point > 0x10FFFF) return std::nullopt;
  return std::pair{point, lead->length};
}

bool is_control(std::uint32_t point) {
  constexpr std::uint32_t kNextLine = 0x85;
  if (point == '\t' || point == '\n' || point == '\r' || point == kNextLine) return false;
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0xFFFE || point == 0xFFFF;
}

}  // namespace

std::optional<BadCharacter> first_bad_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20U && byte < 0x7FU) {
      ++at;
      continue;
    }
    const auto decoded = decode(text.substr(at, 4));
    if (!decoded) {
      return BadCharacter{at, fmt::format("byte 0x{:02X} is not valid UTF-8 here", byte)};
    }
    if (is_control(decoded->first)) {
      return BadCharacter{at, fmt::format("control character U+{:04X}", decoded->first)};
    }
    at += decoded->second;
  }
  return std::nullopt;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  std::size_t at = 0;
  while (at < text.size() && out.size() <= kQuotedBytes) {
    const auto decoded = decode(text.substr(at, 4));
    const bool shown = decoded && !is_control(decoded->first) && decoded->first != '\n' &&
                       decoded->first != '\r' && decoded->first != '\t';
    const std::size_t length = shown ? decoded->second : 1;
    out += shown ? std::string(text.substr(at, length))
                 : fmt::format("\\x{:02X}", static_cast<unsigned char>(text[at]));
    at += length;
  }
  return out + (at < text.size() ? "…\"" : "\"");
}

}  // namespace windtunnel
