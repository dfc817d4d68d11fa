#pragma once
// The tables of a comparison for people: times, memory, traffic. What reads as zero on both sides
// is left out; memory and traffic that are equal on both sides are one line.

#include <string>

#include "report/compare.h"
#include "report/text_layout.h"

namespace windtunnel {

/// No rows yet: a label, A, B, `difference`, and the change against A.
ReportTable figures_table(const std::string& difference);

std::string compare_time_text(const Comparison& comparison);
/// Empty when a side states no memory.
std::string compare_memory_text(const Comparison& comparison);
/// Empty when neither side communicates.
std::string compare_traffic_text(const Comparison& comparison);

}  // namespace windtunnel
