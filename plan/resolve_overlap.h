#pragma once
// Which transfers run beside compute: `plan.overlap.pp` and `plan.overlap.tp`; those of context
// parallelism and of experts are resolved with them.

#include "plan/resolver.h"

namespace windtunnel {

void resolve_overlap(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p,
                     const std::string& preset);

}  // namespace windtunnel
