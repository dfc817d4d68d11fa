#pragma once
// Times at one speed of the machine from times at another, by the anchors of both.

#include "models/cost/calibration.h"

namespace windtunnel {

/// Factors on times: 1.25 takes a quarter longer.
struct SpeedRatio {
  double compute = 1.0;  // on what the arithmetic anchor stands for
  double memory = 1.0;   // on what the copying anchor stands for

  /// Matrix products and attention go with arithmetic, memory-bound kernels with copying.
  double of(KernelClass cls) const;
  /// Of a time of which `compute_share` goes with arithmetic: the geometric mean with that weight.
  double mixed(double compute_share) const;
};

/// What a time at the anchors' rates `then` is to be multiplied with to be one at `now`. All rates
/// over 0. A prediction from a profile: speed_ratio(anchors now, the profile's anchors).
SpeedRatio speed_ratio(const AnchorRates& now, const AnchorRates& then);

/// The geometric mean of the rates before and after a sample.
AnchorRates between(const AnchorRates& before, const AnchorRates& after);

}  // namespace windtunnel
