#pragma once
// Mistakes of low-rank adapters; rows of `mutations()`.

#include <span>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

std::span<const Mutation> lora_mutations();

}  // namespace windtunnel::proof
