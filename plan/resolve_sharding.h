#pragma once
// How parameters, gradients and states are cut over data-parallel ranks: kind, shard groups,
// buckets, what is gathered and let go when; and which of it no stack has.

#include "plan/resolver.h"

namespace windtunnel {

/// Precondition: degrees and schedule of `plan` are resolved.
void resolve_sharding(const Scenario& scenario, const FrameworkRules& rules, Resolver& resolver,
                      ResolvedPlan& plan, const std::string& preset);

}  // namespace windtunnel
