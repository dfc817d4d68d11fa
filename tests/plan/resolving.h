#pragma once
// Scenarios as text, resolved, and what is said of those that are refused.

#include <string>

#include "plan/resolve.h"
#include "scenarios/loader.h"

namespace windtunnel {

/// The one scenario of `text`. Throws InputError.
inline ResolvedScenario resolve_text(const std::string& text) {
  return resolve(load_scenarios_text(text, "x.yaml").scenarios.at(0));
}

/// What is said where `attempt` is refused, or "not refused".
template <class Attempt>
std::string refusal_by(Attempt attempt) {
  try {
    attempt();
  } catch (const InputError& e) {
    return e.what();
  }
  return "not refused";
}

inline std::string refusal_of(const Scenario& scenario) {
  return refusal_by([&] { resolve(scenario); });
}
/// By the loader too.
inline std::string refusal_of(const std::string& text) {
  return refusal_by([&] { resolve_text(text); });
}

}  // namespace windtunnel
