#include "core/unit_text.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string_view>

namespace windtunnel {

namespace {

struct Step {
  double size;
  std::string_view unit;
};

/// The largest step not above the value; rows go from large to small. A value that rounds to the
/// next step's size is printed in that step ("1 s", not "1000 ms").
std::string format_in(double value, std::span<const Step> steps) {
  if (value == 0.0) return fmt::format("0 {}", steps.back().unit);
  if (!std::isfinite(value)) return fmt::format("{} {}", value, steps.back().unit);
  constexpr double kRoundsUp = 0.99995;  // four significant digits
  for (const Step& step : steps) {
    if (std::fabs(value) >= step.size * kRoundsUp || &step == &steps.back()) {
      return fmt::format("{:.4g} {}", value / step.size, step.unit);
    }
  }
  return {};
}

constexpr double kKi = 1024.0;
constexpr Step kTime[] = {{86400.0, "d"}, {3600.0, "h"}, {1.0, "s"},   {1e-3, "ms"},
                          {1e-6, "us"},   {1e-9, "ns"},  {1e-12, "ps"}};
constexpr Step kMemory[] = {{kKi * kKi * kKi * kKi, "TiB"},
                            {kKi * kKi * kKi, "GiB"},
                            {kKi * kKi, "MiB"},
                            {kKi, "KiB"},
                            {1.0, "B"}};
constexpr Step kBandwidth[] = {
    {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1.0, "B/s"}};
constexpr Step kFlopsRate[] = {{1e18, "EFLOP/s"}, {1e15, "PFLOP/s"}, {1e12, "TFLOP/s"},
                               {1e9, "GFLOP/s"},  {1e6, "MFLOP/s"},  {1.0, "FLOP/s"}};

}  // namespace

std::string format_seconds(Seconds time) {
  return time.value == 0.0 ? "0 s" : format_in(time.value, kTime);
}
std::string format_bytes(Bytes amount) {
  return format_in(amount.value, kMemory);
}
std::string format_bandwidth(BytesPerSecond rate) {
  return format_in(rate.value, kBandwidth);
}
std::string format_flops_rate(FlopsPerSecond rate) {
  return format_in(rate.value, kFlopsRate);
}

std::string format_percent(double share) {
  return fmt::format("{:.1f} %", 100.0 * share);
}

std::string format_count(std::int64_t count) {
  const std::string digits = fmt::format("{}", count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_parameters(std::int64_t parameters) {
  const double n = static_cast<double>(parameters);
  if (n >= 1e12) return fmt::format("{:.3g} T", n / 1e12);
  if (n >= 1e9) return fmt::format("{:.4g} B", n / 1e9);
  if (n >= 1e6) return fmt::format("{:.4g} M", n / 1e6);
  return format_count(parameters);
}

}  // namespace windtunnel
