#pragma once
// What lies in the host's memory, and what does not go together with that (docs/offload.md).

#include "plan/resolver.h"

namespace windtunnel {

/// Needs sharding, precision, graphs and the optimizer.
void resolve_offload(ResolvedScenario& out, Resolver& resolver, const std::string& preset);

}  // namespace windtunnel
