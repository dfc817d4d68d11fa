#include "calibrate/fit/robust.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "models/cost/figure.h"

namespace windtunnel {

namespace {

constexpr double kNormalMad = 1.4826;  // 1 / the 75 % point of a normal
constexpr double kMostScore = 3.5;
constexpr double kRelativeFloor = 0.005;
constexpr double kSqrtPi = 1.7724538509055160;

/// Of neighbours, on average; 0 of one value.
double successive_difference(std::span<const double> values) {
  if (values.size() < 2) return 0.0;
  double sum = 0.0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += std::abs(values[i] - values[i - 1]);
  return sum / static_cast<double>(values.size() - 1);
}

}  // namespace

double median(std::span<const double> values) {
  CHECK(!values.empty(), "a median needs values");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

double spread_about(std::span<const double> values, double centre) {
  std::vector<double> away;
  for (const double v : values) away.push_back(std::abs(v - centre));
  return kNormalMad * median(away);
}

double told_sigma(double spread) {
  constexpr double kLeastSigma = 0.01;
  return std::clamp(spread, kLeastSigma, kLargestSigma);
}

std::vector<bool> outliers(std::span<const double> values, double centre, double floor) {
  std::vector<bool> out;
  if (values.empty()) return out;
  const double spread = std::max(spread_about(values, centre), floor);
  for (const double v : values) out.push_back(std::abs(v - centre) > kMostScore * spread);
  return out;
}

RobustSummary summarise(std::span<const double> seconds) {
  const double centre = median(seconds);
  const std::vector<bool> out = outliers(seconds, centre, kRelativeFloor * centre);
  std::vector<double> kept;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!out[i]) kept.push_back(seconds[i]);
  }
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  RobustSummary summary{.mean = sum / static_cast<double>(seconds.size()),
                        .median = median(kept),
                        .kept = static_cast<int>(kept.size()),
                        .dropped = static_cast<int>(seconds.size() - kept.size())};
  summary.noise = kSqrtPi / 2.0 * successive_difference(seconds) / summary.mean;
  summary.sigma = spread_about(kept, summary.median) / summary.median;
  return summary;
}

}  // namespace windtunnel
