#pragma once
// Plans in other precisions and with what a precision brings: products in 8 and 4 bits, loss
// scaling, compiled kernels, a chunked loss, 8-bit optimizer states.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

std::vector<PlanCase> precision_plans();

}  // namespace windtunnel::proof
