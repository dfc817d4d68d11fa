#pragma once
// Parallelisms together, at 16 ranks, and schedules with the shardings their own files leave out.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> combined_plans();

}  // namespace windtunnel::proof
