#pragma once
// Reads the sections of a profile that a calibration writes (docs/profile_format.md).

#include "models/cost/calibration.h"
#include "models/cost/profile_fields.h"

namespace windtunnel {

/// `measured`, `kernels`, `overlap`, `storage`, `anchors`, `quality`, `extrapolated` and
/// `fingerprint` of a profile's root; problems are noted in `in`.
Calibration read_calibration(ProfileFields& in, const LocatedJson& root);

}  // namespace windtunnel
