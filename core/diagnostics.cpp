#include "core/diagnostics.h"

#include <utility>

namespace windtunnel {

namespace {

std::string render_all(const std::vector<Diagnostic>& all) {
  std::string text;
  for (const Diagnostic& d : all) {
    if (!text.empty()) text += '\n';
    text += render(d);
  }
  return text;
}

/// Spaces under the text before `column` (in bytes), tabs kept so that the caret lines up; the
/// second and later bytes of a UTF-8 character take no room on a screen.
std::string caret_indent(const std::string& line, int column) {
  std::string indent;
  for (int i = 0; i + 1 < column && i < static_cast<int>(line.size()); ++i) {
    const unsigned char c = static_cast<unsigned char>(line[static_cast<std::size_t>(i)]);
    if ((c & 0xC0U) == 0x80U) continue;
    indent += c == '\t' ? '\t' : ' ';
  }
  return indent;
}

}  // namespace

std::string render(const Diagnostic& d) {
  std::string text = d.position.file.empty() ? "" : d.position.file + ":";
  if (d.position.line > 0) {
    text += std::to_string(d.position.line) + ":" + std::to_string(d.position.column) + ":";
  }
  text += (text.empty() ? "error: " : " error: ") + d.message;
  if (!d.source_line.empty()) {
    text += "\n  " + d.source_line + "\n  " +
            caret_indent(d.source_line, d.position.column - d.line_offset) + "^";
  }
  if (!d.hint.empty()) text += "\n  hint: " + d.hint;
  return text;
}

InputError::InputError(std::vector<Diagnostic> all)
    : std::runtime_error(render_all(all)), diagnostics(std::move(all)) {}

void refuse_file(const std::string& file, std::string message, std::string hint) {
  throw InputError(
      {{.position = {.file = file}, .message = std::move(message), .hint = std::move(hint)}});
}

}  // namespace windtunnel
