#pragma once
// Time of a compute shape on a calibrated device.
//
//   a shape that was measured     its median; Basis::measured
//   another of the same kernel    fixed + per_flop FLOP + per_byte bytes; Basis::modelled
//
// The sigma of a modelled time is the held-out error e of the kernel's fit as a standard deviation,
// e sqrt(pi/2) (the mean absolute value of a normal is sigma sqrt(2/pi)). Beyond the range of FLOP
// or bytes that was fitted it grows by `kBeyondPerDoubling` for every doubling, and the origin says
// so.

#include "models/cost/calibration.h"
#include "models/cost/cost_model.h"

namespace windtunnel {

/// Whether the calibration has a price for this shape. Host work and `none` need none.
bool is_calibrated(const Calibration& calibration, const Shape& shape);

/// Precondition: is_calibrated, a device kernel.
OpCost calibrated_cost(const Calibration& calibration, const Shape& shape);

}  // namespace windtunnel
