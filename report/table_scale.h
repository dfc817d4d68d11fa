#pragma once
// One unit for a whole table: its figures line up and compare at a glance.

#include <cstdint>
#include <string>

namespace windtunnel {

struct TimeScale {
  double unit = 1.0;  // seconds
  const char* name = "s";
  int decimals = 3;

  std::string operator()(double seconds) const;
  std::string difference(double seconds) const;  // with its sign; what reads as zero has none
};

/// Four significant digits for `largest`, in seconds.
TimeScale time_scale(double largest);

struct SizeScale {
  double unit = 1.0;  // bytes
  const char* name = "B";
  int decimals = 0;

  std::string operator()(std::int64_t bytes) const;  // zero is "-"
};

/// Three significant digits for `largest` bytes, in binary units.
SizeScale size_scale(std::int64_t largest);

}  // namespace windtunnel
