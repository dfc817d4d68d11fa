#pragma once
// Experts whose groups lie across context-parallel ranks.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> context_expert_plans();

}  // namespace windtunnel::proof
