#pragma once
// Where a trace goes: never over what was read.

#include <string>
#include <vector>

namespace windtunnel {

/// Throws InputError when `trace` is one of the input files, by whatever name; `what` is what they
/// are called. An empty path is no file.
void keep_inputs(const std::string& trace, const std::vector<std::string>& inputs,
                 const std::string& what);

}  // namespace windtunnel
