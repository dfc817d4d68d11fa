#include "report/text_layout.h"

#include <algorithm>

namespace windtunnel {

namespace {

void append_trimmed(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line;
  text += '\n';
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string spaces(width - std::min(width, width_of(cell)), ' ');
  return align == Align::right ? spaces + cell : cell + spaces;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string render_table(const ReportTable& table, std::string_view indent) {
  const std::size_t columns = table.columns.size();
  std::vector<std::size_t> widths(columns);
  std::vector<std::string> heads(columns);
  bool has_heads = false;
  for (std::size_t i = 0; i < columns; ++i) {
    heads[i] = table.columns[i].head;
    widths[i] = width_of(heads[i]);
    has_heads = has_heads || !heads[i].empty();
    for (const auto& row : table.rows) {
      if (i < row.size()) widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string text;
  const auto append_row = [&](const std::vector<std::string>& row) {
    std::string line(indent);
    for (std::size_t i = 0; i < columns; ++i) {
      if (i > 0) line += "  ";
      line += padded(i < row.size() ? row[i] : std::string(), widths[i], table.columns[i].align);
    }
    append_trimmed(text, std::move(line));
  };
  if (has_heads) append_row(heads);
  for (const auto& row : table.rows) append_row(row);
  return text;
}

std::string wrap_text(std::string_view text, std::string_view first) {
  const std::string hanging(width_of(first), ' ');
  std::string out, line(first);
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find_first_not_of(" \n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, at - begin);
    if (!empty && width_of(line) + 1 + width_of(word) > kTextWidth) {
      append_trimmed(out, std::move(line));
      line = hanging;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  append_trimmed(out, std::move(line));
  return out;
}

}  // namespace windtunnel
