#include "scenarios/yaml/tree.h"

#include "scenarios/yaml/utf8.h"

namespace windtunnel {

std::string_view YamlValue::text() const {
  if (!is_scalar()) return {};
  return std::string_view(tree_->characters).substr(node().begin, node().size);
}

YamlValue YamlValue::item(std::size_t i) const {
  return child(i);
}
YamlValue YamlValue::key(std::size_t i) const {
  return child(2 * i);
}
YamlValue YamlValue::value(std::size_t i) const {
  return child(2 * i + 1);
}

std::optional<YamlValue> YamlValue::find(std::string_view wanted) const {
  if (!is_map()) return std::nullopt;
  for (std::size_t i = 0; i < size(); ++i) {
    if (key(i).text() == wanted) return value(i);
  }
  return std::nullopt;
}

SourcePosition YamlValue::position() const {
  return {.file = tree_->source->file(), .line = node().line, .column = node().column};
}

Diagnostic YamlValue::diagnostic(std::string message, std::string hint) const {
  return tree_->source->diagnostic(node().line, node().column, std::move(message), std::move(hint));
}

std::string YamlValue::described() const {
  switch (kind()) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::sequence:
      return "a list";
    case NodeKind::map:
      return "a mapping";
    case NodeKind::scalar:
      return in_quotes(text());
  }
  return {};
}

}  // namespace windtunnel
