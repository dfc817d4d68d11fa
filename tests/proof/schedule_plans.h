#pragma once
// Plans whose backward runs in two parts, or whose chunks lie on the ranks other than in a loop.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> schedule_plans();

}  // namespace windtunnel::proof
