#pragma once
// A transfer's time against its size: the median of every size that was measured, made monotone.
//
// No formula: the points are the curve, log-log between them (collective_cost.h). Sigma is the
// spread of the repetitions about the curve, which holds what making it monotone has moved.

#include <span>
#include <utility>
#include <vector>

namespace windtunnel {

struct TransferTimes {
  double bytes = 0.0;           // over 0
  std::vector<double> seconds;  // repetitions, not empty, over 0
};

struct CurveFit {
  std::vector<std::pair<double, double>> points;  // bytes, seconds; ascending in both
  double sigma = 0.0;                             // log-normal; see told_sigma (robust.h)
};

/// Sizes in any order; repetitions of equal sizes are put together. Precondition: not empty.
CurveFit fit_curve(std::span<const TransferTimes> sizes);

}  // namespace windtunnel
