#pragma once
// The peak arithmetic rate of a chip for an element type, and what stands in for types it lacks.

#include "models/cost/profile.h"

namespace windtunnel {

/// Tensor peak of the type. fp16 and bf16 stand in for each other; a narrower type the chip has no
/// tensor rate for is computed in bf16; fp32 and fp64 without a rate of their own run at the
/// slowest rate the profile has.
Figure peak_rate(const Profile& profile, Dtype dtype);

/// Whether the profile has a rate for the type itself (or its 16-bit twin).
bool has_peak_rate(const Profile& profile, Dtype dtype);

}  // namespace windtunnel
