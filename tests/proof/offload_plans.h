#pragma once
// Plans that keep a part of what a rank holds in its host's memory.

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> offload_plans();

}  // namespace windtunnel::proof
