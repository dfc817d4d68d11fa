#pragma once
// Loads scenario text in tests: expectations of one scenario, or of the errors.

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader.h"

namespace windtunnel {

/// A scenario on device `unit` that loads; tests append or replace keys.
inline std::string tiny_scenario(std::string_view plan, std::string_view more = "") {
  return "model: {layers: 8, hidden: 64, ffn: 128, heads: 4, vocab: 256, activation: swiglu}\n"
         "cluster: {device: unit, devices_per_node: 8, nodes: 2, unit: {hop: 0 s}}\n"
         "batch: {global: 32, micro: 1, sequence: 64}\n"
         "plan: " +
         std::string(plan) + "\n" + std::string(more);
}

inline Scenario load_one(std::string_view text) {
  return load_scenarios_text(text, "test.yaml").scenarios.at(0);
}

/// The diagnostics of a text that must not load; empty when it loads.
inline std::vector<Diagnostic> errors_of(std::string_view text) {
  try {
    load_scenarios_text(text, "test.yaml");
  } catch (const InputError& error) {
    return error.diagnostics;
  }
  return {};
}

/// All of their text, rendered.
inline std::string error_text(std::string_view text) {
  std::string all;
  for (const Diagnostic& problem : errors_of(text)) all += render(problem) + "\n";
  return all;
}

}  // namespace windtunnel
