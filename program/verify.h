#pragma once
// Structural proofs of a program, run after every lowering in every build.

#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Every violation found, in words; empty when the program is sound. Complexity: linear in op
/// executions of a few micro-batches per role plus the number of calls.
std::vector<std::string> find_violations(const Program& program);

/// Throws InternalError with the first violations.
void verify(const Program& program);

}  // namespace windtunnel
