#pragma once
// Diagnostics about a scenario after it was read: at the place where a key was written.

#include <string>
#include <string_view>

#include "scenarios/scenario.h"

namespace windtunnel {

/// Where `key` ("plan.schedule.kind") stands. A key the user left out stands at the nearest section
/// around it that was written ("plan.schedule", "plan", then the scenario itself).
SourcePosition position_of(const Scenario& scenario, std::string_view key);

/// A diagnostic there, with the line for the caret.
Diagnostic diagnostic_at(const Scenario& scenario, std::string_view key, std::string message,
                         std::string hint);

}  // namespace windtunnel
