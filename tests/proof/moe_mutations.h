#pragma once
// Mistakes planted in programs of mixtures of experts.

#include <span>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

std::span<const Mutation> moe_mutations();

}  // namespace windtunnel::proof
