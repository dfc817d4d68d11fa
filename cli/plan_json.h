#pragma once
// What `plan --json` prints: every resolved value with its origin, the mesh, its groups, and what
// each pipeline stage holds and communicates in one step.

#include <string>

#include "planning/simulate.h"

namespace windtunnel {

std::string plan_json(const Lowered& lowered);

}  // namespace windtunnel
