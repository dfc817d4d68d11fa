#pragma once
// Parts of the format that are read and validated but that nothing lowers yet. A scenario that uses
// one is refused by name, never run without it.

#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel {

/// One diagnostic per key in use that is not built, naming the key and its value, at its place.
std::vector<Diagnostic> keys_not_built(const Scenario& scenario);

}  // namespace windtunnel
