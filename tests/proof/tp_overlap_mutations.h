#pragma once
// Mistakes planted in products that run beside tensor-parallel transfers.

#include <span>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

std::span<const Mutation> tp_overlap_mutations();

}  // namespace windtunnel::proof
