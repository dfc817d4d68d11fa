#include "planning/validate_errors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace windtunnel {

std::optional<double> mean(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorStatistics error_statistics(std::span<const double> errors) {
  std::vector<double> absolute;
  for (const double e : errors) absolute.push_back(std::fabs(e));
  return {.n = static_cast<int>(errors.size()),
          .mape = mean(absolute),
          .median_ape = quantile(absolute, 0.5),
          .bias = mean(errors),
          .p90_ape = quantile(absolute, 0.9),
          .max_ape = quantile(absolute, 1.0)};
}

}  // namespace windtunnel
