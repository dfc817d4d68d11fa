#pragma once
// Mistakes planted in programs of latent attention and of multi-token prediction.

#include <span>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

std::span<const Mutation> latent_mutations();

}  // namespace windtunnel::proof
