#include "models/cost/calibrated_cost.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "models/cost/shape_work.h"

namespace windtunnel {

namespace {

// Caches step down in factors of 8 to 16 (32 KiB, 1 MiB, 16 MiB) and lose about half of the rate
// each: some 15 to 20 % per doubling that no sample shows. Assumed.
constexpr double kBeyondPerDoubling = 0.15;
constexpr double kMostSigma = 1.5;  // a factor of 4: nothing is known beyond that

/// Doublings from the nearer end of the range; 0 inside.
double doublings_beyond(const FittedRange& range, double amount) {
  if (amount <= 0.0 || range.most <= 0.0) return 0.0;
  if (amount > range.most) return std::log2(amount / range.most);
  if (range.least > 0.0 && amount < range.least) return std::log2(range.least / amount);
  return 0.0;
}

const KernelCost* find_kernel(const Calibration& calibration, const Shape& shape) {
  const auto at = calibration.kernels.find({shape.kernel, shape.in});
  return at == calibration.kernels.end() ? nullptr : &at->second;
}

}  // namespace

Shape on_device(const Shape& shape) {
  Shape same = shape;
  if (row_of(shape.kernel).cls == KernelClass::link) {
    same.kernel = shape.in == shape.out ? Kernel::copy : Kernel::cast;
    same.acc = shape.out;
  }
  same.attr = static_cast<std::uint16_t>(shape.attr & ~kOnHost);
  return same;
}

MeasuredShape measured_shape(const Shape& shape) {
  return {.kernel = shape.kernel,
          .in = shape.in,
          .out = shape.out,
          .attr = shape.attr,
          .dims = shape.dims};
}

bool is_calibrated(const Calibration& calibration, const Shape& asked) {
  const Shape shape = on_device(asked);
  const KernelClass cls = row_of(shape.kernel).cls;
  if (cls == KernelClass::host || cls == KernelClass::none) return true;
  return calibration.measured.contains(measured_shape(shape)) ||
         find_kernel(calibration, shape) != nullptr;
}

OpCost calibrated_cost(const Calibration& calibration, const Shape& asked) {
  const Shape shape = on_device(asked);
  OpCost cost{.cls = cost_class_of(row_of(shape.kernel).cls)};
  if (const auto at = calibration.measured.find(measured_shape(shape));
      at != calibration.measured.end()) {
    cost.time = {at->second.seconds};
    cost.sigma = at->second.sigma;
    cost.origin = {Basis::measured, calibration.source};
    return cost;
  }
  const KernelCost* fit = find_kernel(calibration, shape);
  CHECK(fit != nullptr, "programs with kernels that have no price are refused before");
  const ShapeWork work = shape_work(shape);
  cost.time = {fit->fixed_s + fit->seconds_per_flop * work.flops +
               fit->seconds_per_byte * work.bytes};
  const double beyond =
      std::max(doublings_beyond(fit->flops, work.flops), doublings_beyond(fit->bytes, work.bytes));
  const double fitted = fit->error * std::sqrt(std::numbers::pi / 2.0);
  cost.sigma = std::min(kMostSigma, std::hypot(fitted, kBeyondPerDoubling * beyond));
  cost.origin = {Basis::modelled,
                 beyond > 0.0 ? calibration.extrapolation_source : calibration.source};
  return cost;
}

}  // namespace windtunnel
