#pragma once
// Step time for people: how long, how fast, where it goes (bars), and stage by stage.

#include <string>

#include "report/step_report.h"

namespace windtunnel {

/// "Step time 13.75 s ...": the figures at the head.
std::string step_time_text(const StepReport& report);

/// The mean over stages, one bar per part; parts that take no time are left out.
std::string breakdown_text(const StepReport& report);

/// Bottleneck, runner-up and lever.
std::string bottleneck_text(const StepReport& report);

/// A row per pipeline stage; empty for one stage.
std::string stage_times_text(const StepReport& report);

}  // namespace windtunnel
