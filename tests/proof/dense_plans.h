#pragma once
// Plans of dense models whose weights are whole: tensor, sequence, pipeline and data parallelism,
// accumulation, recomputation, axis orders, and each framework's rules.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> dense_plans();

}  // namespace windtunnel::proof
