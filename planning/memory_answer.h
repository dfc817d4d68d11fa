#pragma once
// The memory part of a report: the program replayed on the device of its profile.

#include "models/allocator/device_memory.h"
#include "models/cost/profile.h"
#include "planning/simulate.h"
#include "report/step_report.h"

namespace windtunnel {

/// What a profile says of memory, as the replay wants it, for this stack (older stacks load every
/// CUDA module at start).
DeviceMemory device_memory(const Profile& profile, const ResolvedScenario& resolved);

MemoryAnswer memory_answer(const Lowered& lowered, const Profile& profile);

}  // namespace windtunnel
