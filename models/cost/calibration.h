#pragma once
// What a calibration knows of a device: prices of the very shapes it measured, and per kernel a fit
// for all others (docs/calibration.md).
//
//   seconds = fixed + per_flop * FLOP + per_byte * bytes     (shape_work.h says what is counted)
//
// All costs are stated at the anchors' rates: two small fixed programs that are measured beside
// every sample, so that costs of a machine whose speed changes stay comparable. Seconds, bytes,
// FLOP/s, B/s.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "models/cost/figure.h"
#include "program/kernel.h"
#include "program/program.h"

namespace windtunnel {

/// What decides the time of a shape on a calibrated device; layouts and variants that the device
/// does not tell apart are left out.
struct MeasuredShape {
  Kernel kernel = Kernel::none;
  Dtype in = Dtype::none, out = Dtype::none;
  std::uint16_t attr = kAttrNone;  // ShapeAttr bits
  ShapeDims dims{};

  friend auto operator<=>(const MeasuredShape&, const MeasuredShape&) = default;
};
MeasuredShape measured_shape(const Shape& shape);
/// What a device that is its own host runs for a copy to or from the host, or for a kernel of the
/// host: one of its own.
Shape on_device(const Shape& shape);

struct MeasuredCost {
  double seconds = 0.0;
  double sigma = 0.0;  // log-normal, of a repetition
  int samples = 0;
};

/// Least and most of what was fitted; both 0 when the kernel does none of it.
struct FittedRange {
  double least = 0.0, most = 0.0;
};

struct KernelCost {
  double fixed_s = 0.0;
  double seconds_per_flop = 0.0;
  double seconds_per_byte = 0.0;
  double error = 0.0;  // mean absolute relative error of held-out shapes
  double p90 = 0.0;    // 90 % of them are off by at most this
  FittedRange flops, bytes;
  int samples = 0;
};
using KernelKey = std::pair<Kernel, Dtype>;  // Dtype: of the input

/// How compute and transfers slow each other while both run: extra time as a fraction, 0 to 8.
struct OverlapFigures {
  std::map<KernelClass, double> compute_beside_collective;
  double collective_beside_compute = 0.0;
};

struct StorageFigures {
  Figure write, read;  // B/s of a checkpoint
};

/// Rates of the two fixed programs.
struct AnchorRates {
  double flops_per_s = 0.0;  // arithmetic within the first cache
  double bytes_per_s = 0.0;  // copying in memory
};

/// How well the fits of one class of kernels, or one other kind of measurement, hold.
struct FitQuality {
  std::string name;
  double mape = 0.0, p90 = 0.0;
  int samples = 0, held_out = 0;
};

struct Calibration {
  std::map<MeasuredShape, MeasuredCost> measured;
  std::map<KernelKey, KernelCost> kernels;
  std::optional<OverlapFigures> overlap;
  std::optional<StorageFigures> storage;
  AnchorRates anchors;
  double noise = 0.0;  // relative standard deviation of a kernel's time from call to call
  /// Of the machine's speed while it was measured: fastest tenth over slowest, less 1.
  double drift = 0.0;
  std::vector<FitQuality> quality;
  std::vector<std::string> extrapolated;  // what rests on no measurement near it
  std::vector<std::string> slow;          // nodes and links that took longer than the others
  std::vector<std::pair<std::string, std::string>> fingerprint;  // of machine and software
  std::uint16_t source = 0, extrapolation_source = 0;            // into Profile::sources
};

/// Whether others used the machine: kernels vary by over a tenth from call to call, or its speed
/// moved by over a half (docs/calibration.md). Of such a calibration no price is sure.
bool was_busy(const Calibration& calibration);

/// "kernels vary by 1.3 % from call to call, the machine's speed by 4 %".
std::string quiet_text(const Calibration& calibration);

}  // namespace windtunnel
