#pragma once
// Mistakes planted in plans that offload.

#include <span>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

std::span<const Mutation> offload_mutations();

}  // namespace windtunnel::proof
