#pragma once
// Samples of a kernel whose true costs are known, with log-normal noise of a known sigma.

#include <cmath>
#include <vector>

#include "calibrate/fit/work_fit.h"
#include "core/counter_random.h"

namespace windtunnel {

struct TrueKernel {
  double fixed_s = 5e-6, per_flop = 1e-10, per_byte = 3e-10;
  double noise = 0.0;
  std::uint64_t seed = 1;

  double seconds(double flops, double bytes) const {
    return fixed_s + per_flop * flops + per_byte * bytes;
  }
};

/// FLOP from 1e3 to 1e9, FLOP per byte from 1 to 100, both spread over their decades.
inline std::vector<WorkSample> samples_of(const TrueKernel& truth, int count) {
  std::vector<WorkSample> samples;
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    const double flops =
        std::pow(10.0, 3.0 + 6.0 * to_unit_interval(counter_hash(truth.seed, n, 1)));
    const double bytes =
        flops / std::pow(10.0, 2.0 * to_unit_interval(counter_hash(truth.seed, n, 2)));
    const double noise = std::exp(truth.noise * to_normal(counter_hash(truth.seed, n, 3)));
    samples.push_back(
        {.flops = flops, .bytes = bytes, .seconds = truth.seconds(flops, bytes) * noise});
  }
  return samples;
}

}  // namespace windtunnel
