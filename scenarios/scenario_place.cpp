#include "scenarios/scenario_place.h"

#include "scenarios/yaml/source_text.h"

namespace windtunnel {

SourcePosition position_of(const Scenario& scenario, std::string_view key) {
  std::string path(key);
  while (true) {
    const auto found = scenario.positions.find(path);
    if (found != scenario.positions.end()) return found->second;
    if (path.empty()) return {};
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
}

Diagnostic diagnostic_at(const Scenario& scenario, std::string_view key, std::string message,
                         std::string hint) {
  SourcePosition position = position_of(scenario, key);
  for (const auto& source : scenario.sources) {
    if (source->file() == position.file) {
      return source->diagnostic(position.line, position.column, std::move(message),
                                std::move(hint));
    }
  }
  return {.position = std::move(position),
          .message = std::move(message),
          .hint = std::move(hint),
          .source_line = {}};
}

}  // namespace windtunnel
