#pragma once
// Differences in words and signed figures, the same in a comparison's tables, sentence and limits.

#include <cstdint>
#include <optional>
#include <string>

#include "report/compare.h"

namespace windtunnel {

/// "+12.0 %", "-0.3 %"; "0.0 %" without a sign where it rounds to that; "x 12.5" from ten times on;
/// "new" where A has nothing.
std::string change_text(std::optional<double> relative);
std::string signed_seconds(double seconds);    // "+8.1 ms"
std::string signed_count(std::int64_t count);  // "+1,024", "0"
std::string limit_percent(double share);       // "10%", "2.5%": as it is written
std::string stages_text(int stages);           // "1 pipeline stage", "4 pipeline stages"

/// "B's step takes 12.0 % longer: exposed tp communication grew by 8.1 ms of the 9.9 ms."
std::string cause_sentence(const Comparison& comparison);

/// Of a run and a simulation: "The run lies inside the simulation's 90 % interval."; else empty.
std::string interval_sentence(const Comparison& comparison);

}  // namespace windtunnel
