#include "models/cost/calibration.h"

#include "core/unit_text.h"

namespace windtunnel {

namespace {

// Between what an idle machine and one with a build beside the calibration showed
// (docs/calibration.md, A busy machine).
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
