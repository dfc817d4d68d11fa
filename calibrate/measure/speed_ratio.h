#pragma once
// Times at one speed of the machine from times at another, by the anchors of both.

#include <cstdint>

#include "models/cost/calibration.h"

namespace windtunnel {

/// Which anchor tells how a time goes with the machine's speed.
enum class Pace : std::uint8_t { arithmetic, copying };

/// Memory-bound work goes with copying when it moves more bytes than the caches near a core hold (4
/// MiB: a second cache of 1 to 2 MiB and a share of the third). All else goes with arithmetic: what
/// stays in the caches of a core, others on the machine do not slow by using its memory.
Pace pace_of(KernelClass cls, double bytes);

/// Factors on times: 1.25 takes a quarter longer.
struct SpeedRatio {
  double compute = 1.0;  // on what the arithmetic anchor stands for
  double memory = 1.0;   // on what the copying anchor stands for

  double of(Pace pace) const { return pace == Pace::copying ? memory : compute; }
  /// Of a time of which `compute_share` goes with arithmetic: the geometric mean with that weight.
  double mixed(double compute_share) const;
};

/// What a time at the anchors' rates `then` is to be multiplied with to be one at `now`. All rates
/// over 0. A prediction from a profile: speed_ratio(anchors now, the profile's anchors).
SpeedRatio speed_ratio(const AnchorRates& now, const AnchorRates& then);

/// The geometric mean of the rates before and after a sample.
AnchorRates between(const AnchorRates& before, const AnchorRates& after);

}  // namespace windtunnel
