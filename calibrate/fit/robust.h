#pragma once
// Centre and spread of times that now and then are far too long.
//
// An outlier is a value whose modified z-score is over 3.5 (Iglewicz and Hoaglin 1993, "How to
// Detect and Handle Outliers"):
//   |x - median| / (1.4826 MAD) > 3.5
// MAD: median absolute deviation; 1.4826 MAD is the standard deviation of a normal. A spread below
// `floor` counts as `floor`, so that values which agree to the clock's grain keep each other.

#include <span>
#include <vector>

namespace windtunnel {

/// Of an even count the mean of the middle two. Precondition: not empty.
double median(std::span<const double> values);

/// 1.4826 times the median of |value - centre|. Precondition: not empty.
double spread_about(std::span<const double> values, double centre);

/// What a profile says of a spread: repetitions tell nothing of the error they share, so at least
/// 1 %, and nothing is worse than kLargestSigma (models/cost/figure.h).
double told_sigma(double spread);

struct RobustSummary {
  double mean = 0.0;    // of all: what many of them take together, interruptions included
  double median = 0.0;  // of what was kept
  double sigma = 0.0;   // relative spread of what was kept
  /// Of all, from one to the next: the relative standard deviation of the normal whose draws differ
  /// as much from each other on average, 2 sigma / sqrt(pi). So one long interruption among many
  /// runs counts by its length, not by its square, and what lasts over many runs does not count.
  double noise = 0.0;
  int kept = 0, dropped = 0;
};

/// Repetitions of one time, in the order they were taken. The relative floor is 0.5 %: what a clock
/// of some 25 ns tells of the shortest batch of 20 us, with a margin. Precondition: not empty, all
/// over 0.
RobustSummary summarise(std::span<const double> seconds);

/// True for each value that is an outlier about `centre`.
std::vector<bool> outliers(std::span<const double> values, double centre, double floor);

}  // namespace windtunnel
