#pragma once
// From what a calibration knows of a transfer's noise to what the engine draws.
//
// Measured are the deviation of the time until a group's last member ends, and how much earlier a
// member ends on average (CallNoise). The engine draws every member's end by itself
// (TransferNoise), as the sum of four uniforms. The last of n such draws is expected E(n) standard
// deviations above their mean, with variance V(n); so that the last ends when it was measured to,
//
//   early = e,  member = e / ((1 - e) E(n)),  group^2 = sigma^2 - ((1 - e) member)^2 V(n)
//
// as far as the engine draws (deviations of at most 0.25) and e is by chance: members whose places
// decide who is early (a broadcast's root) would vary by more than was measured, so e is at most
// sigma E(n) / sqrt(V(n)).

#include <vector>

#include "models/cost/cost_model.h"
#include "planning/pricing.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

/// Mean and variance of the largest of n draws, each the standardised sum of four uniforms
/// (Irwin-Hall; sim/engine/lane_math.h). Precondition: n > 1.
struct LargestDraw {
  double mean = 0.0, variance = 0.0;
};
LargestDraw largest_draw(int n);

/// `members` that draw by themselves: of a collective; 1: a message, whose two ends are one.
TransferNoise drawn_noise(const CallNoise& measured, int members);

/// [op]; empty where no price has noise. Members of a collective of several stages have one draw
/// for all stages.
std::vector<TransferNoise> transfer_noise(const Program& program, const PricedProgram& priced);

}  // namespace windtunnel
