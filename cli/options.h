#pragma once
// What a user can say on the command line, whatever the verb; each verb reads what its row in the
// table of verbs names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "report/compare_limits.h"

namespace windtunnel {

enum class Option : std::uint8_t {
  file,   // one scenario file
  paths,  // files and folders
  json,
  id,
  trace,
  seed,
  draws,
  jitter,  // simulate
  view,    // plan: --resolved, --ops with --rank, --grid
  two_steps,
  limits,       // compare: --max-step-error, --max-term-error, --exact-memory, --exact-traffic
  steps,        // run: --steps, --warm-up
  hang_after,   // run: seconds
  verify,       // run: --verify
  emulate,      // run: --emulate PROFILE
  rehearsal,    // rehearse: --budget, --rounds, --steps, --warm-up
  trace_sides,  // compare: --trace-a, --trace-b
  calibration,  // calibrate: show PROFILE, or --for, --budget, -o, --emulate, --samples, --seed
};

/// What `plan` prints.
enum class PlanView : std::uint8_t { summary, resolved, ops, grid };

struct Options {
  std::vector<std::string> paths;
  bool json = false;
  std::string id;     // of one scenario of a set; empty: all
  std::string trace;  // path of the trace; empty: none
  std::uint64_t seed = 1;
  int draws = 32;
  std::optional<double> jitter;  // relative deviation from call to call
  PlanView view = PlanView::summary;
  int rank = 0;  // whose ops
  int steps = 5, warm_up = 1;
  double hang_after_s = 60.0;
  bool verify = false;
  std::string emulate;  // path of a profile whose times kernels take; empty: they compute
  struct {
    Seconds budget{30.0};
    int rounds = 2, steps = 9;
  } rehearsal;
  CompareLimits limits;
  std::string trace_a, trace_b;  // paths of traces of the two steps; empty: a scenario's own

  std::vector<std::string> words;      // calibrate: show, PROFILE
  std::vector<std::string> scenarios;  // --for
  Seconds budget{60.0};
  std::string output;   // -o
  std::string samples;  // of the calibration; empty: kept in memory
};

}  // namespace windtunnel
