#pragma once
// Plans whose sequences are split over context-parallel ranks.

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> context_plans();

}  // namespace windtunnel::proof
