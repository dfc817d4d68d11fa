#pragma once
// The peak arithmetic rate of a chip for an element type, and what stands in for types it lacks.

#include "models/cost/profile.h"

namespace windtunnel {

/// Tensor peak of the type. bf16 stands in for fp16, which every chip with bf16 multiplies as fast;
/// not the reverse: Volta has fp16 alone. A narrower type the chip has no tensor rate for is
/// computed in bf16; other types without a rate of their own run at the slowest rate the profile
/// has.
Figure peak_rate(const Profile& profile, Dtype dtype);

/// Whether the profile has a rate for the type itself (or for what stands in for it).
bool has_peak_rate(const Profile& profile, Dtype dtype);

}  // namespace windtunnel
