#pragma once
// Lowering: from a resolved scenario to the program every rank runs.
//
// The program is verified before it is returned (program/verify.h); a violation is a bug of ours
// and throws InternalError.

#include "plan/resolved.h"
#include "program/program.h"

namespace windtunnel {

Program lower(const ResolvedScenario& scenario);

/// The same model, batch and numerics on one device without parallelism: what `lower(scenario)`
/// must equal.
ResolvedScenario one_device(const ResolvedScenario& scenario);

}  // namespace windtunnel
