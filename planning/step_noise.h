#pragma once
// How step times spread from step to step when kernels and transfers do.
//
// Not the interval of a report: that is how far the prices may be off, the same in every step.
// Noise is what remains between steps of one run. Every step draws it anew from (seed, step, rank,
// call, op), all ranks apart, at nominal prices; a step ends with its slowest rank.

#include <cstdint>
#include <vector>

#include "program/program.h"
#include "report/step_report.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

/// Noise of relative standard deviation `sigma` on every kernel of every rank, and on every
/// collective and transfer, whose members share it. Valid range: 0 to kMostNoise.
Jitter uniform_noise(const Program& program, double sigma);

/// Steps for percentiles: 99 in 100 needs more than a hundred.
constexpr int kNoisySteps = 201;

/// Step times of `steps` steps, ascending. `costs.jitter` is the noise.
std::vector<Seconds> noisy_step_times(const Program& program, const StepCosts& costs, int steps);

/// By nearest rank: the smallest time that a share q of the steps does not exceed. Precondition:
/// ascending, not empty.
StepPercentiles percentiles_of(const std::vector<Seconds>& ascending);

}  // namespace windtunnel
