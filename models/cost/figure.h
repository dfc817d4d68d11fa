#pragma once
// A number of a profile: its value, the log-normal sigma of its error (0 for a count), and the
// source it comes from.

#include <cstdint>

namespace windtunnel {

struct Figure {
  double value = 0.0;
  double sigma = 0.0;
  std::uint16_t source = 0;  // index into Profile::sources
};

}  // namespace windtunnel
