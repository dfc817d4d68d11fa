#pragma once
// Whether a profile can price a program at all: said before the simulation, as an input error.

#include "models/cost/profile.h"
#include "planning/simulate.h"

namespace windtunnel {

/// Throws InputError at the scenario's key when the device does not multiply in the plan's type, or
/// a calibration has no price for some of the program's kernels or for its transfers.
void require_prices(const Lowered& lowered, const Profile& profile);

/// The same of kernels alone.
void require_kernel_prices(const Lowered& lowered, const Profile& profile);

}  // namespace windtunnel
