#pragma once
// The nearest curve that never falls: times of a transfer against its bytes, freed from noise.

#include <utility>
#include <vector>

namespace windtunnel {

/// Pool adjacent violators on log(seconds), equal weights: the nearest sequence in least squares
/// that never falls (Barlow et al. 1972, "Statistical inference under order restrictions"). Points
/// are (bytes, seconds), ascending in bytes, seconds over 0. O(n).
std::vector<std::pair<double, double>> monotone(std::vector<std::pair<double, double>> points);

}  // namespace windtunnel
