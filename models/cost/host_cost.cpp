#include "models/cost/host_cost.h"

#include <algorithm>
#include <cmath>

namespace windtunnel {

namespace {

constexpr double kPaperBytes = 30.0 * 10e9;          // of a step of the 10 billion parameters
constexpr double kPaperBandwidth = 2 * 6 * 21.33e9;  // B/s, twelve channels
constexpr double kOnePass = kPaperBytes / 2.57 / kPaperBandwidth;
constexpr double kPassPerOperation = kPaperBytes / 14.76 / kPaperBandwidth;
// From 1 to 10 billion parameters the same table's rates differ by 15 %; processors of other kinds
// and core counts differ by more.
constexpr double kStepSigma = 0.25;
constexpr double kAssumedSigma = 0.35;  // on top, where the bandwidth is not stated

double bytes_of(const Shape& shape) {
  return static_cast<double>(std::max(shape.bytes_read, shape.bytes_written));
}

}  // namespace

const char* host_source_text() {
  return "Adam on the host: Ren et al. 2021, ZeRO-Offload (2101.06840), table 4";
}

OpCost copy_cost(const Profile& profile, const HostShare& host, const Shape& shape) {
  const bool out = shape.kernel == Kernel::to_host;
  const Figure& stated = out ? profile.links.to_host_bandwidth : profile.links.to_device_bandwidth;
  const Figure& link = stated.value > 0.0 ? stated : profile.links.pcie_bandwidth;
  const double rate = std::min(link.value, host.bandwidth.value);
  return {.time = {profile.memory_kernel_fixed.value + bytes_of(shape) / rate},
          .cls = CostClass::link,
          .sigma = link.sigma,
          .origin = {Basis::modelled, link.source}};
}

OpCost host_kernel_cost(const HostShare& host, const Shape& shape) {
  const double efficiency = (shape.attr & kFused) != 0 ? kOnePass : kPassPerOperation;
  const double bytes = static_cast<double>(shape.bytes_read + shape.bytes_written);
  return {.time = {bytes / (efficiency * host.bandwidth.value)},
          .cls = CostClass::host,
          .sigma = host.assumed ? std::hypot(kStepSigma, kAssumedSigma) : kStepSigma,
          .origin = {host.assumed ? Basis::assumed : Basis::modelled, kHostStepSource}};
}

}  // namespace windtunnel
