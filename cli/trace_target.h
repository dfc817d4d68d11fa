#pragma once
// Where output goes: never over what was read.

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel {

/// Throws InputError when `target` is one of the input files, by whatever name. An empty path is no
/// file.
void keep_inputs(const std::string& target, const std::vector<std::string>& inputs,
                 const std::string& complaint, const std::string& hint);

/// Also of the files that a scenario names: its profile.
void keep_inputs_of(const std::string& trace, const Scenario& scenario);

/// The same for a trace; `what` is what the inputs are called.
void keep_inputs(const std::string& trace, const std::vector<std::string>& inputs,
                 const std::string& what);

}  // namespace windtunnel
