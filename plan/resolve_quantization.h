#pragma once
// Products in 8 and 4 bits: which recipe a scenario means, and what its device needs of operands.

#include "plan/resolver.h"

namespace windtunnel {

/// Sets the plan's scaling and layout of operands from its compute type.
void resolve_quantization(const Scenario& scenario, const FrameworkRules& rules, Resolver& resolver,
                          ResolvedPlan& plan);

}  // namespace windtunnel
