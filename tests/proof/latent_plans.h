#pragma once
// Plans of models with latent attention.

#include <vector>

#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

/// The Llama with latent attention: ranks 6 and 8, heads of 4 + 2 columns and values of 3.
Scenario toy_latent();

/// The Llama with norms of query and key heads (Qwen3).
Scenario toy_head_norms();

/// Latent attention, and norms of heads.
std::vector<PlanCase> latent_plans();

}  // namespace windtunnel::proof
