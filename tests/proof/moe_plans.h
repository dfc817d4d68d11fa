#pragma once
// Plans of models with experts.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

/// The Llama with 8 experts of width 12 in place of every MLP, 2 for each token.
Scenario toy_moe();

std::vector<PlanCase> moe_plans();

}  // namespace windtunnel::proof
