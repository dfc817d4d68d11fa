#pragma once
// What one rank of each pipeline stage communicates in a step, for the report.

#include <vector>

#include "program/program.h"
#include "report/step_report.h"

namespace windtunnel {

/// Rows by stage, and in a stage in order of first issue; phases and peers are summed. Sizes as in
/// program/collective_counts.h.
std::vector<TrafficRow> traffic_rows(const Program& program);

}  // namespace windtunnel
