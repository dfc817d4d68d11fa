#pragma once
// The error of a fit on samples it has not seen.
//
// 15 % of the samples, chosen by the seed, are held out; the rest is fitted; the held-out ones are
// predicted. Fewer than `kLeastForHoldingOut` samples leave too little on either side: then the
// errors are those of the fit to all of them, and `held_out` is 0.

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/fit/work_fit.h"

namespace windtunnel {

constexpr double kHeldOutShare = 0.15;
constexpr std::size_t kLeastForHoldingOut =
    7;  // 15 % of 7 is one, and six are left for three terms

struct FitError {
  std::vector<double> errors;  // |predicted / measured - 1|
  int held_out = 0;            // 0: errors of the fit itself

  double mape() const;  // mean; 0 of no errors
  double p90() const;   // the least value that 90 % do not exceed
};

/// `seed` chooses; the same samples in the same order and the same seed give the same answer.
FitError fit_error(std::span<const WorkSample> samples, std::uint64_t seed);

/// Errors of several fits as one: those of a class of kernels.
FitError pooled(std::span<const FitError> errors);

}  // namespace windtunnel
