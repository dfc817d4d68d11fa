#pragma once
// Plans that train low-rank adapters beside frozen weights; rows of `plan_cases()`.

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> lora_plans();

}  // namespace windtunnel::proof
