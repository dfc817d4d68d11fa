#include "calibrate/measure/speed_ratio.h"

#include <cmath>

#include "core/check.h"

namespace windtunnel {

namespace {

constexpr double kNearCaches = 4.0 * (1 << 20);

}  // namespace

Pace pace_of(KernelClass cls, double bytes) {
  return cls == KernelClass::memory && bytes > kNearCaches ? Pace::copying : Pace::arithmetic;
}

double SpeedRatio::mixed(double compute_share) const {
  return std::pow(compute, compute_share) * std::pow(memory, 1.0 - compute_share);
}

SpeedRatio speed_ratio(const AnchorRates& now, const AnchorRates& then) {
  CHECK(now.flops_per_s > 0.0 && now.bytes_per_s > 0.0, "anchors are rates");
  CHECK(then.flops_per_s > 0.0 && then.bytes_per_s > 0.0, "anchors are rates");
  return {.compute = then.flops_per_s / now.flops_per_s,
          .memory = then.bytes_per_s / now.bytes_per_s};
}

AnchorRates between(const AnchorRates& before, const AnchorRates& after) {
  return {.flops_per_s = std::sqrt(before.flops_per_s * after.flops_per_s),
          .bytes_per_s = std::sqrt(before.bytes_per_s * after.bytes_per_s)};
}

}  // namespace windtunnel
