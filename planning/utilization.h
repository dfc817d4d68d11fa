#pragma once
// MFU and HFU of a step, under one named FLOP convention.

#include "models/cost/profile.h"
#include "plan/resolved.h"
#include "program/program.h"
#include "report/step_report.h"

namespace windtunnel {

/// FLOPs of the matrix products and attention kernels that all ranks run in one step.
Flops executed_flops(const Program& program);

/// Convention `megatron`, or `lora` where adapters are trained (models/architectures/adapters.h):
/// causal attention counted half, recomputation not counted. HFU is what is executed:
/// recomputation, a flash kernel's fifth product, the padded rows of the head, and the masked half
/// of the scores where unfused attention computes it. Peak: the device's dense rate of the compute
/// type; a profile without one leaves the report as it is. Precondition: report.step_time_s is set.
void fill_utilization(StepReport& report, const ResolvedScenario& resolved, const Program& program,
                      const Profile& profile);

}  // namespace windtunnel
