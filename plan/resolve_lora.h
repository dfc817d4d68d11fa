#pragma once
// `plan.lora`: what is adapted, and what cannot be combined with it (docs/lora.md).

#include "plan/resolver.h"

namespace windtunnel {

/// Precondition: all of the plan but adapters is resolved.
void resolve_lora(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p);

}  // namespace windtunnel
