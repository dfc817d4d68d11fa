#pragma once
// Random small pipeline programs, a pure function of their seed: random mesh, schedule, streams,
// events, collectives within and across roles, host work, launches and costs. They never deadlock.

#include <cstdint>

#include "tests/sim/engine/toy_pipeline.h"

namespace windtunnel::toy {

Toy random_program(std::uint64_t seed);

}  // namespace windtunnel::toy
