#pragma once
// Fills in every key a scenario leaves out, from the preset's defaults for the stack's version, and
// remembers where each value came from.

#include "plan/resolved.h"

namespace windtunnel {

/// Throws InputError (with the scenario's positions) when a key belongs to a part that is not
/// built, or when degrees, batch and layers cannot be laid out under the framework's rules.
ResolvedScenario resolve(const Scenario& scenario);

}  // namespace windtunnel
