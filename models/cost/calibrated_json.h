#pragma once
// A calibrated profile as the text of its file: what `load_profile` reads back.

#include <string>

#include "models/cost/profile.h"

namespace windtunnel {

/// Numbers are written with the digits that bring back the same value. Precondition:
/// profile.calibration.
std::string calibrated_profile_text(const Profile& profile);

}  // namespace windtunnel
