#pragma once
// Plans whose products run beside tensor-parallel transfers; rows of `plan_cases()`.

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> tp_overlap_plans();

}  // namespace windtunnel::proof
