#pragma once
// Plans of models whose attention and MLP read one norm; rows of `plan_cases()`.

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> parallel_block_plans();

}  // namespace windtunnel::proof
