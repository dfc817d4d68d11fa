#pragma once
// How often every op of a role runs in one step.

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Adds to `counts`, one per op of Program::ops, the runs of a step of one rank of the role: of any
/// step but the first.
void count_runs(const Program& program, const Role& role, std::vector<std::int64_t>& counts);

}  // namespace windtunnel
