#pragma once
// Expert parallelism: which ranks hold an expert, and which of it no stack has.
//
// `ep` ranks together hold all experts; `etp` ranks share each of them: all of tp (Megatron's
// default) or one. In the first case an expert group is `ep` places of the data-parallel axis, in
// the second all of tp and ep/tp such places.

#include "plan/resolver.h"

namespace windtunnel {

/// Precondition: degrees, sharding, sequence parallelism, precision and graphs of `plan` are
/// resolved.
void resolve_experts(const Scenario& scenario, Resolver& resolver, ResolvedPlan& plan,
                     const std::string& preset);

}  // namespace windtunnel
