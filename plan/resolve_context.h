#pragma once
// Context parallelism of a scenario: how attention goes over the ranks that share a sequence, and
// what no stack does.

#include <string>

#include "plan/resolver.h"

namespace windtunnel {

/// Precondition: degrees, order, sharding and attention are resolved.
void resolve_context(const Scenario& scenario, Resolver& resolver, ResolvedPlan& plan,
                     const std::string& preset);

}  // namespace windtunnel
