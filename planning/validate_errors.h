#pragma once
// Statistics of relative errors, predicted / measured - 1.

#include <optional>
#include <span>
#include <vector>

namespace windtunnel {

struct ErrorStatistics {
  int n = 0;
  // Of |error|, but the bias of the signed one; without rows there is none of them.
  std::optional<double> mape, median_ape, bias, p90_ape, max_ape;
};

ErrorStatistics error_statistics(std::span<const double> errors);

/// The q-quantile with linear interpolation between order statistics (Hyndman and Fan 1996, type 7:
/// the median of an even number of values is the mean of the middle two). Nothing of no values.
std::optional<double> quantile(std::vector<double> values, double q);

/// Nothing of no values.
std::optional<double> mean(std::span<const double> values);

}  // namespace windtunnel
