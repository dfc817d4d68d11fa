#pragma once
// A number of a profile: its value, the log-normal sigma of its error (0 for a count), and the
// source it comes from.

#include <cstdint>

namespace windtunnel {

constexpr double kLargestSigma = 3.0;    // log-normal, a factor of 20 either way: nothing is worse
constexpr double kLargestNoise = 100.0;  // relative deviation from call to call

struct Figure {
  double value = 0.0;
  double sigma = 0.0;
  std::uint16_t source = 0;  // index into Profile::sources
};

}  // namespace windtunnel
