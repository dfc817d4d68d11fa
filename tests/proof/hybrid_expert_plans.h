#pragma once
// Experts inside shard groups of which there are several: hybrid sharding with expert parallelism.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> hybrid_expert_plans();

}  // namespace windtunnel::proof
