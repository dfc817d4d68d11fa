#pragma once
// Lowering: from a resolved scenario to the program every rank runs.
//
// A violation that verify() (program/verify.h) finds is a bug of ours and throws InternalError.

#include "plan/resolved.h"
#include "program/program.h"

namespace windtunnel {

/// Not verified yet: for a caller that verifies it beside other work, before it tells a result.
Program draft(const ResolvedScenario& scenario);

/// Verified.
Program lower(const ResolvedScenario& scenario);

/// The same model, batch and numerics on one device without parallelism: what `lower(scenario)`
/// must equal.
ResolvedScenario one_device(const ResolvedScenario& scenario);

}  // namespace windtunnel
