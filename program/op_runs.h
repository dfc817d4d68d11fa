#pragma once
// Which ops of a role run in one step, and how often.

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// The segments that a role calls in a step, each once, in the order of the first calls.
std::vector<const Segment*> segments_of(const Program& program, const Role& role);

/// Adds to `counts`, one per op of Program::ops, the runs of a step of one rank of the role: of any
/// step but the first.
void count_runs(const Program& program, const Role& role, std::vector<std::int64_t>& counts);

}  // namespace windtunnel
