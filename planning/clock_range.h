#pragma once
// The clock of a step is integer picoseconds in 64 bits: 106 days. Costs come from what users write
// (a bandwidth of 1 B/s, a layer of 20 days), so a program is refused when its step could leave it.

#include <span>

#include "core/units.h"
#include "program/program.h"

namespace windtunnel {

struct NominalCosts {
  std::span<const Seconds> of_op;         // by op
  Seconds launch;                         // of one kernel
  std::span<const double> role_factor{};  // by role; empty: 1
};

/// Throws an InputError when all ops of all roles one after another, which no step exceeds, take
/// too long. O(ops + calls).
void check_clock_range(const Program& program, const NominalCosts& costs);

}  // namespace windtunnel
