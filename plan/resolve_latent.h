#pragma once
// What latent attention (plan/latent_attention.h) does not go with.

#include "plan/resolver.h"

namespace windtunnel {

/// Precondition: degrees, kernels and recompute of `plan` are resolved.
void check_latent(const Scenario& scenario, const FrameworkRules& rules, Resolver& resolver,
                  const ResolvedPlan& plan);

}  // namespace windtunnel
