#pragma once
// Where output goes: never over what was read.

#include <string>
#include <vector>

namespace windtunnel {

/// Throws InputError when `target` is one of the input files, by whatever name. An empty path is no
/// file.
void keep_inputs(const std::string& target, const std::vector<std::string>& inputs,
                 const std::string& complaint, const std::string& hint);

/// The same for a trace; `what` is what the inputs are called.
void keep_inputs(const std::string& trace, const std::vector<std::string>& inputs,
                 const std::string& what);

}  // namespace windtunnel
