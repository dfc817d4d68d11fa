#pragma once
// Mistakes planted in programs of context parallelism.

#include <span>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

std::span<const Mutation> context_mutations();

}  // namespace windtunnel::proof
