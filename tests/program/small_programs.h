#pragma once
// Small lowered programs by name: one per thing the checks look at.

#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Names of all of them.
std::vector<std::string> small_program_names();

/// Lowered from its scenario. Precondition: `name` is one of the above.
Program small_program(const std::string& name);

}  // namespace windtunnel
