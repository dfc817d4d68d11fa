#pragma once
// A kernel's time from its work:  seconds = fixed + per_flop * FLOP + per_byte * bytes.
//
// The coefficients are not negative and minimise the sum of squared relative errors,
//   sum w (predicted / seconds - 1)^2
// Non-negative least squares with three unknowns is solved by trying every subset of them: the
// optimum is the unconstrained solution on its own support (Lawson and Hanson 1974, chapter 23).
// Of equally good subsets the smallest is taken, FLOP before bytes before the fixed part: what one
// sample or samples of one size cannot tell apart is the work's.
//
// Samples that do not fit are weighed down first (Huber's weights, k = 1.345, scale from the MAD:
// Huber 1981, "Robust Statistics"), then dropped by the rule of robust.h about an error of 0, with
// a floor of 1 %, at most a quarter of them, and the rest is fitted again.

#include <span>

#include "models/cost/calibration.h"

namespace windtunnel {

struct WorkSample {
  double flops = 0.0, bytes = 0.0;
  double seconds = 0.0;  // over 0
};

struct WorkFit {
  double fixed_s = 0.0, seconds_per_flop = 0.0, seconds_per_byte = 0.0;
  FittedRange flops, bytes;  // of the samples that were kept
  int kept = 0, dropped = 0;

  double seconds(double work_flops, double work_bytes) const {
    return fixed_s + seconds_per_flop * work_flops + seconds_per_byte * work_bytes;
  }
};

/// Precondition: not empty, all seconds over 0. O(samples).
WorkFit fit_work(std::span<const WorkSample> samples);

}  // namespace windtunnel
