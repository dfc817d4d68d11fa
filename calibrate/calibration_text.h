#pragma once
// A calibrated profile for people: how good the fits are, what was measured, what is extrapolated,
// at what speed of the machine.

#include <string>

#include "models/cost/profile.h"

namespace windtunnel {

/// Precondition: profile.calibration.
std::string calibration_text(const Profile& profile);

}  // namespace windtunnel
