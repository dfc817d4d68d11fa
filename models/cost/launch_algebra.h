#pragma once
// Closed forms of a host that issues kernels to a device.
//
// N kernels of x seconds each, l seconds of host time per launch, unbounded run-ahead:
//   T = l + N x when x >= l (the device is the limit), N l + x when x < l (the host is)
// A captured graph is one launch: T = l_graph + N (x + gap). Input: a batch takes `load` seconds of
// one of `workers` loaders, with at least one batch prefetched: step = max(device, load / workers),
// and device + load without workers.
// Sources: CUDA programming guide (asynchronous launches, graphs); oracles O-128..O-130, O-133.

#include <algorithm>

#include "core/units.h"

namespace windtunnel {

struct LaunchSequence {
  std::int64_t kernels = 0;
  Seconds kernel{};  // device time of each
  Seconds launch{};  // host time of each
};

constexpr Seconds launch_bound_time(const LaunchSequence& s) {
  const double n = static_cast<double>(s.kernels);
  if (s.kernels == 0) return {};
  return s.kernel < s.launch ? s.launch * n + s.kernel : s.launch + s.kernel * n;
}

struct GraphReplay {
  std::int64_t kernels = 0;
  Seconds kernel, launch, gap;
};

constexpr Seconds graph_replay_time(const GraphReplay& g) {
  return g.launch + (g.kernel + g.gap) * static_cast<double>(g.kernels);
}

/// Without workers nothing is fetched ahead: the sum. Precondition: workers >= 0.
constexpr Seconds input_bound_step(Seconds device, Seconds load, int workers) {
  return workers == 0 ? device + load : std::max(device, load / workers);
}

}  // namespace windtunnel
