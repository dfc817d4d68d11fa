#include "calibrate/fit/work_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "calibrate/fit/robust.h"
#include "core/check.h"

namespace windtunnel {

namespace {

constexpr double kHuber = 1.345;   // 95 % as efficient as least squares where errors are normal
constexpr int kReweightings = 10;  // the weights settle within a few
constexpr double kResidualFloor = 0.01;
constexpr std::size_t kMostDroppedShare = 4;  // one in four
constexpr double kBetter = 1e-6;              // a larger subset must gain this share of the error
constexpr double kRankThreshold = 1e-9;       // columns this close to dependent are one

enum Column : std::uint8_t { kFlops, kBytes, kFixed };
using Coefficients = std::array<double, 3>;

/// Smallest first, FLOP before bytes before the fixed part.
const std::vector<std::vector<Column>>& subsets() {
  static const std::vector<std::vector<Column>> all = {{kFlops},
                                                       {kBytes},
                                                       {kFixed},
                                                       {kFlops, kFixed},
                                                       {kBytes, kFixed},
                                                       {kFlops, kBytes},
                                                       {kFlops, kBytes, kFixed}};
  return all;
}

double amount(const WorkSample& s, Column column) {
  switch (column) {
    case kFlops:
      return s.flops;
    case kBytes:
      return s.bytes;
    case kFixed:
      break;
  }
  return 1.0;
}

double predicted(const WorkSample& s, const Coefficients& c) {
  return c[kFlops] * s.flops + c[kBytes] * s.bytes + c[kFixed];
}

double weighted_error(std::span<const WorkSample> samples, std::span<const double> weights,
                      const Coefficients& c) {
  double sum = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double e = predicted(samples[i], c) / samples[i].seconds - 1.0;
    sum += weights[i] * e * e;
  }
  return sum;
}

/// Unconstrained least squares on a subset; false in front: dependent columns or a negative part.
std::pair<bool, Coefficients> solve(std::span<const WorkSample> samples,
                                    std::span<const double> weights,
                                    const std::vector<Column>& subset) {
  const auto n = static_cast<Eigen::Index>(samples.size());
  const auto m = static_cast<Eigen::Index>(subset.size());
  if (n < m) return {false, {}};
  Eigen::MatrixXd a(n, m);
  Eigen::VectorXd b(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const WorkSample& s = samples[static_cast<std::size_t>(i)];
    const double w = std::sqrt(weights[static_cast<std::size_t>(i)]);
    for (Eigen::Index j = 0; j < m; ++j) {
      a(i, j) = w * amount(s, subset[static_cast<std::size_t>(j)]) / s.seconds;
    }
    b(i) = w;
  }
  const Eigen::VectorXd norms = a.colwise().norm();
  if (norms.minCoeff() <= 0.0) return {false, {}};
  a = a * norms.cwiseInverse().asDiagonal();
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
  qr.setThreshold(kRankThreshold);
  qr.compute(a);
  if (qr.rank() < m) return {false, {}};
  const Eigen::VectorXd x = qr.solve(b).cwiseQuotient(norms);
  if (!x.allFinite() || x.minCoeff() < 0.0) return {false, {}};
  Coefficients c{};
  for (Eigen::Index j = 0; j < m; ++j) c[subset[static_cast<std::size_t>(j)]] = x(j);
  return {true, c};
}

Coefficients least_squares(std::span<const WorkSample> samples, std::span<const double> weights) {
  Coefficients best{};
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<Column>& subset : subsets()) {
    const auto [valid, c] = solve(samples, weights, subset);
    if (!valid) continue;
    const double error = weighted_error(samples, weights, c);
    // An error of rounding alone is no reason for another term.
    if (error < least * (1.0 - kBetter) - std::numeric_limits<double>::epsilon()) {
      best = c;
      least = error;
    }
  }
  return best;
}

std::vector<double> errors_of(std::span<const WorkSample> samples, const Coefficients& c) {
  std::vector<double> errors;
  for (const WorkSample& s : samples) errors.push_back(predicted(s, c) / s.seconds - 1.0);
  return errors;
}

Coefficients huber_fit(std::span<const WorkSample> samples) {
  std::vector<double> weights(samples.size(), 1.0);
  Coefficients c = least_squares(samples, weights);
  for (int round = 0; round < kReweightings; ++round) {
    const std::vector<double> errors = errors_of(samples, c);
    const double scale = std::max(spread_about(errors, 0.0), kResidualFloor);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = std::min(1.0, kHuber * scale / std::max(std::abs(errors[i]), scale * 1e-9));
    }
    c = least_squares(samples, weights);
  }
  return c;
}

/// Without the worst of the outliers, at most a quarter of all.
std::vector<WorkSample> kept_samples(std::span<const WorkSample> samples, const Coefficients& c) {
  const std::vector<double> errors = errors_of(samples, c);
  const std::vector<bool> out = outliers(errors, 0.0, kResidualFloor);
  std::vector<std::size_t> worst;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (out[i]) worst.push_back(i);
  }
  std::stable_sort(worst.begin(), worst.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(errors[a]) > std::abs(errors[b]);
  });
  worst.resize(std::min(worst.size(), samples.size() / kMostDroppedShare));
  std::vector<WorkSample> kept;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::find(worst.begin(), worst.end(), i) == worst.end()) kept.push_back(samples[i]);
  }
  return kept;
}

template <class Amount>
FittedRange range_of(std::span<const WorkSample> samples, Amount amount_of) {
  FittedRange range{.least = amount_of(samples.front()), .most = amount_of(samples.front())};
  for (const WorkSample& s : samples) {
    range.least = std::min(range.least, amount_of(s));
    range.most = std::max(range.most, amount_of(s));
  }
  return range;
}

}  // namespace

WorkFit fit_work(std::span<const WorkSample> samples) {
  CHECK(!samples.empty(), "a fit needs samples");
  for (const WorkSample& s : samples) CHECK(s.seconds > 0.0, "a time is over 0");
  const std::vector<WorkSample> kept = kept_samples(samples, huber_fit(samples));
  const Coefficients c = huber_fit(kept);
  return {.fixed_s = c[kFixed],
          .seconds_per_flop = c[kFlops],
          .seconds_per_byte = c[kBytes],
          .flops = range_of(kept, [](const WorkSample& s) { return s.flops; }),
          .bytes = range_of(kept, [](const WorkSample& s) { return s.bytes; }),
          .kept = static_cast<int>(kept.size()),
          .dropped = static_cast<int>(samples.size() - kept.size())};
}

}  // namespace windtunnel
