#include "calibrate/fit/held_out.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/counter_random.h"

namespace windtunnel {

namespace {

/// Indices in an order that the seed decides.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [seed](std::size_t a, std::size_t b) {
    return counter_hash(seed, a) < counter_hash(seed, b);
  });
  return order;
}

double error_of(const WorkFit& fit, const WorkSample& s) {
  return std::abs(fit.seconds(s.flops, s.bytes) / s.seconds - 1.0);
}

}  // namespace

double FitError::mape() const {
  if (errors.empty()) return 0.0;
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
}

double FitError::p90() const {
  if (errors.empty()) return 0.0;
  std::vector<double> sorted = errors;
  std::sort(sorted.begin(), sorted.end());
  const auto at = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(sorted.size())));
  return sorted[at - 1];
}

FitError fit_error(std::span<const WorkSample> samples, std::uint64_t seed) {
  FitError result;
  if (samples.empty()) return result;
  std::vector<WorkSample> seen, unseen;
  if (samples.size() < kLeastForHoldingOut) {
    seen.assign(samples.begin(), samples.end());
    unseen = seen;
  } else {
    const auto held =
        static_cast<std::size_t>(std::lround(kHeldOutShare * static_cast<double>(samples.size())));
    const std::vector<std::size_t> order = shuffled(samples.size(), seed);
    for (std::size_t i = 0; i < order.size(); ++i) {
      (i < held ? unseen : seen).push_back(samples[order[i]]);
    }
    result.held_out = static_cast<int>(held);
  }
  const WorkFit fit = fit_work(seen);
  for (const WorkSample& s : unseen) result.errors.push_back(error_of(fit, s));
  return result;
}

FitError pooled(std::span<const FitError> errors) {
  FitError all;
  for (const FitError& one : errors) {
    all.errors.insert(all.errors.end(), one.errors.begin(), one.errors.end());
    all.held_out += one.held_out;
  }
  return all;
}

}  // namespace windtunnel
