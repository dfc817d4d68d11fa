#pragma once
// A comparison for people: what `compare` prints of two steps. 80 columns.

#include <string>

#include "report/compare.h"

namespace windtunnel {

/// Head, the sentence that names the cause, the figures of the step, its time, memory and traffic.
std::string compare_text(const Comparison& comparison);

}  // namespace windtunnel
