#pragma once
// One side of a comparison: a file that `simulate --json` or a run wrote, or a scenario, which is
// simulated on the spot.

#include <optional>
#include <string>

#include "cli/output.h"
#include "planning/simulate.h"
#include "report/step_reader.h"

namespace windtunnel {

struct SideQuestion {
  std::string path;
  std::string id;     // of one scenario of a set; empty: all
  std::string trace;  // where traces go; empty: a simulated scenario's is not kept
};

struct CompareSide {
  StepFile file;
  /// The one that was simulated, when its trace was asked for.
  std::optional<Simulation> traced;
};

/// Whether a path names a scenario: it ends in .yaml or .yml.
bool names_scenario(const std::string& path);

/// A scenario that is refused has its diagnostics on standard error. Throws InputError: the file
/// cannot be read, holds no `id`, or holds several and a trace is asked for.
CompareSide load_side(const SideQuestion& question, Output& output);

}  // namespace windtunnel
