#include "models/cost/calibration.h"

#include "core/unit_text.h"

namespace windtunnel {

namespace {

// An idle machine's kernels vary by 1 to 5 %, its anchors by 11 to 28 %; one with a build
// beside the calibration by 30 to 110 % and by two to fifteen times (measured,
// docs/calibration.md).
constexpr double kBusyNoise = 0.1, kBusyDrift = 0.5;

}  // namespace

bool was_busy(const Calibration& c) {
  return c.noise > kBusyNoise || c.drift > kBusyDrift;
}

std::string quiet_text(const Calibration& c) {
  return "kernels vary by " + format_percent(c.noise) +
         " from call to call, the machine's speed by " + format_percent(c.drift);
}

}  // namespace windtunnel
