#include "planning/validate_row.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "planning/validate_ranking.h"

namespace windtunnel {

namespace {

constexpr double kGB = 1e9, kGiB = 0x1p30;

/// Keys of the format that decide how much memory a run needs.
constexpr std::string_view kMemoryKeys[] = {
    "memory_unit", "recompute", "sharding", "precision", "optimizer", "offload",
    "attention",   "kernels",   "logits",   "allocator", "dropout",   "micro",
};

/// Whether one of a dotted key's parts ("plan.recompute.kind") is a memory key.
bool names_memory_key(std::string_view key) {
  while (true) {
    const std::size_t dot = key.find('.');
    const std::string_view part = key.substr(0, dot);
    if (std::find(std::begin(kMemoryKeys), std::end(kMemoryKeys), part) != std::end(kMemoryKeys)) {
      return true;
    }
    if (dot == std::string_view::npos) return false;
    key.remove_prefix(dot + 1);
  }
}

/// How far the size is from a number with three decimals in this unit: the unit that it was written
/// in is the nearer one.
double distance_from_written(double bytes, double unit) {
  const double thousandths = 1000.0 * bytes / unit;
  return std::fabs(thousandths - std::round(thousandths));
}

/// The same number in the other unit.
double in_the_other_unit(double bytes) {
  const bool written_in_gib =
      distance_from_written(bytes, kGiB) < distance_from_written(bytes, kGB);
  return written_in_gib ? bytes / kGiB * kGB : bytes / kGB * kGiB;
}

bool names(const std::vector<std::string>& assumed, std::string_view key) {
  return std::find(assumed.begin(), assumed.end(), key) != assumed.end();
}

}  // namespace

std::optional<double> measured_step_time(const Measured& m) {
  if (m.step_time) return m.step_time->value;
  if (m.step_time_range) {
    return (m.step_time_range->first.value + m.step_time_range->second.value) / 2.0;
  }
  return std::nullopt;
}

double measured_spread(const Measured& m) {
  if (!m.step_time_range) return kDefaultSpread;
  const auto [low, high] = *m.step_time_range;
  return (high.value - low.value) / ((low.value + high.value) / 2.0);
}

std::optional<bool> measured_oom(const Measured& m) {
  if (m.oom) return m.oom;
  if (measured_step_time(m)) return false;
  return std::nullopt;
}

bool assumes_memory(const std::vector<std::string>& assumed) {
  return std::any_of(assumed.begin(), assumed.end(), names_memory_key);
}

std::optional<double> memory_error(const ValidationRow& row) {
  if (!row.measured || !row.predicted) return std::nullopt;
  const Measured& m = *row.measured;
  const Prediction& p = *row.predicted;
  double measured = 0.0, predicted = 0.0;
  if (m.peak_allocated) {
    measured = m.peak_allocated->value;
    predicted = static_cast<double>(p.peak_allocated_bytes);
  } else if (m.peak_reserved) {
    measured = m.peak_reserved->value;
    predicted = static_cast<double>(p.peak_reserved_bytes);
  } else if (m.peak_device) {
    measured = m.peak_device->value;
    predicted = static_cast<double>(p.peak_device_bytes);
  }
  if (measured <= 0.0) return std::nullopt;
  const double error = predicted / measured - 1.0;
  if (!names(row.assumed, "memory_unit")) return error;
  const double other = predicted / in_the_other_unit(measured) - 1.0;
  return std::fabs(other) < std::fabs(error) ? other : error;
}

void score(ValidationRow& row) {
  row.memory_error = memory_error(row);
  if (!row.measured || !row.predicted) return;
  const std::optional<double> measured = measured_step_time(*row.measured);
  if (!measured || *measured <= 0.0) return;
  row.step_time_error = row.predicted->step_time_s / *measured - 1.0;
  const auto [low, high] = row.predicted->step_time_interval_s;
  if (high > low) row.interval_holds = low <= *measured && *measured <= high;
}

}  // namespace windtunnel
