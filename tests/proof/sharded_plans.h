#pragma once
// Plans that shard states, gradients or weights over data-parallel ranks.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> sharded_plans();

}  // namespace windtunnel::proof
