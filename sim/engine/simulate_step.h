#pragma once
// The engine: one training step of a program in virtual time.
//
// A max-plus sweep in topological order. Roles are swept cooperatively: each goes on until it needs
// the time of something a peer has not posted, so the order follows the data and no event queue is
// needed. An op starts at the latest of: the host has issued it, its stream is free, its
// communicator is free, the events it waits for have happened, the last member has arrived. Times
// are integers; the same input gives the same answer whatever the order of roles or the width of
// the machine's vectors. See docs/engine.md.

#include <stdexcept>

#include "program/program.h"
#include "sim/engine/step_costs.h"
#include "sim/engine/step_timing.h"

namespace windtunnel {

/// Which ranks get a lane of their own.
enum class Ranks : std::uint8_t {
  folded,  // the coarsest grid that is exact: one lane per role unless ranks differ
  all
};

struct StepOptions {
  Ranks ranks = Ranks::folded;  // jitter tells all ranks apart, so it always takes all
  bool trace = false;           // one record per op, lane and call
  int step = 1;                 // number of the training step from 0
};

/// Every role waits for another: the program is stuck. `what()` names each role's op and what it
/// waits for.
struct StuckError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Preconditions: the program is verified; `costs.duration` has an entry per op and draw,
/// `costs.launch` one per draw. O(op executions * lanes) time; memory O(lanes) per role plus the
/// events and transfers alive at a time. Throws StuckError.
StepTiming simulate_step(const Program& program, const StepCosts& costs,
                         const StepOptions& options = {});

}  // namespace windtunnel
