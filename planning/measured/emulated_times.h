#pragma once
// The times kernels take in an emulated run: the prices a simulation with the same profile gives
// them, with the same noise from call to call and the same slow ranks.

#include "models/cost/profile.h"
#include "planning/simulate.h"
#include "runtime/emulated_compute.h"

namespace windtunnel {

EmulatedCompute emulated_times(const Lowered& lowered, const Profile& profile, std::uint64_t seed);

}  // namespace windtunnel
