#pragma once
// Text for a terminal of 80 columns: aligned tables and wrapped paragraphs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel {

constexpr std::size_t kTextWidth = 80;

enum class Align : std::uint8_t { left, right };

struct TextColumn {
  std::string head;
  Align align = Align::right;
};

struct ReportTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;  // a cell for each column; missing cells are empty
};

/// Columns two spaces apart, each as wide as its widest cell; every line starts with `indent` and
/// ends without spaces. A table without heads has no head line.
std::string render_table(const ReportTable& table, std::string_view indent);

/// Words of `text` in lines of at most kTextWidth columns: `first` before the first line, as many
/// spaces before the others. A longer word stands alone.
std::string wrap_text(std::string_view text, std::string_view first);

/// Columns a UTF-8 text takes: its characters.
std::size_t width_of(std::string_view text);

}  // namespace windtunnel
