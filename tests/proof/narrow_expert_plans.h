#pragma once
// Plans of mixtures of experts whose products are in 8 and 4 bits.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> narrow_expert_plans();

}  // namespace windtunnel::proof
