#pragma once
// Plans drawn at random from everything the lowering builds: what no list of rows thinks of.

#include <cstdint>

#include "scenarios/scenario.h"

namespace windtunnel::proof {

/// A model and plan of at most 16 ranks, a function of `seed`. Some cannot be laid out; `resolve`
/// refuses those.
Scenario random_scenario(std::uint64_t seed);

}  // namespace windtunnel::proof
