#include "report/table_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace windtunnel {

std::string TimeScale::operator()(double seconds) const {
  return fmt::format("{:.{}f}", seconds / unit, decimals);
}

std::string TimeScale::difference(double seconds) const {
  const std::string text = fmt::format("{:+.{}f}", seconds / unit, decimals);
  return text.find_first_not_of("+-0.") == std::string::npos ? text.substr(1) : text;
}

TimeScale time_scale(double largest) {
  TimeScale scale{.unit = 1e-6, .name = "us"};
  if (largest >= 1.0) {
    scale = {.unit = 1.0, .name = "s"};
  } else if (largest >= 1e-3) {
    scale = {.unit = 1e-3, .name = "ms"};
  }
  const double digits_before = largest > 0.0 ? std::floor(std::log10(largest / scale.unit)) : 0.0;
  scale.decimals = std::clamp(3 - static_cast<int>(digits_before), 0, 3);
  return scale;
}

std::string SizeScale::operator()(std::int64_t bytes) const {
  return bytes == 0 ? "-" : fmt::format("{:.{}f}", static_cast<double>(bytes) / unit, decimals);
}

SizeScale size_scale(std::int64_t largest) {
  constexpr std::int64_t kKi = 1024;
  if (largest >= 10 * kKi * kKi * kKi) return {.unit = 0x1p30, .name = "GiB", .decimals = 1};
  if (largest >= kKi * kKi * kKi) return {.unit = 0x1p30, .name = "GiB", .decimals = 2};
  if (largest >= kKi * kKi) return {.unit = 0x1p20, .name = "MiB", .decimals = 1};
  return {.unit = 0x1p10, .name = "KiB", .decimals = 1};
}

}  // namespace windtunnel
