#pragma once
// Plans of models with multi-token prediction.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

/// The Llama that predicts one token more.
Scenario toy_prediction();

std::vector<PlanCase> prediction_plans();

}  // namespace windtunnel::proof
