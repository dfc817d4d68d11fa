#pragma once
// A second, slow engine for the tests: every rank on its own, scalar, no folding, no decoding.
//
// Tier T0 as a least fixed point: all ranks are walked in host order with the transfers' and
// collectives' ends of the walk before, until nothing changes any more. Written from the rules of
// docs/engine.md, not from the engine. Run-ahead of less than 32 launches only, with at least one
// launch on every op of the compute stream.

#include <vector>

#include "program/program.h"
#include "sim/engine/step_costs.h"

namespace windtunnel::toy {

struct NaiveTiming {
  Picoseconds step_time = 0;
  std::vector<Picoseconds> end;  // [rank]
};

NaiveTiming naive_step(const Program& program, const StepCosts& costs);

}  // namespace windtunnel::toy
