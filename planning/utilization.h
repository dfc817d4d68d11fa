#pragma once
// MFU and HFU of a step, under one named FLOP convention.

#include "models/cost/profile.h"
#include "plan/resolved.h"
#include "report/step_report.h"

namespace windtunnel {

/// Convention `megatron`: causal attention counted half, recomputation not counted. HFU is what is
/// executed: recomputation and a flash kernel's fifth product on top. Peak: the device's dense rate
/// of the compute type. Precondition: report.step_time_s is set.
void fill_utilization(StepReport& report, const ResolvedScenario& resolved, const Profile& profile);

}  // namespace windtunnel
