#pragma once
// A step report for people: what `simulate` and `check` print. One screen, 80 columns.

#include <string>

#include "report/step_report.h"

namespace windtunnel {

/// Head, step time, where it goes, bottleneck and lever, memory, assumptions, origins, and what to
/// calibrate next.
std::string step_text(const StepReport& report);

/// Head, memory and assumptions: a report without times.
std::string check_text(const StepReport& report);

}  // namespace windtunnel
