#pragma once
// A comparison as JSON (docs/compare.md). Every compared value is {a, b, difference, relative};
// `relative` is null where A has nothing.

#include <string>
#include <vector>

#include "report/compare.h"
#include "report/compare_limits.h"

namespace windtunnel {

std::string comparison_json(const Comparison& comparison, const std::vector<Violation>& violations);

}  // namespace windtunnel
