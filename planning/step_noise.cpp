#include "planning/step_noise.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/counter_random.h"
#include "sim/engine/simulate_step.h"

namespace windtunnel {

Jitter uniform_noise(const Program& program, double sigma) {
  Jitter jitter{.sigma = sigma};
  jitter.transfers.resize(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpKind kind = program.ops[i].kind;
    if (kind == OpKind::collective || kind == OpKind::send) jitter.transfers[i].group = sigma;
  }
  return jitter;
}

std::vector<Seconds> noisy_step_times(const Program& program, const StepCosts& costs, int steps) {
  StepCosts nominal = nominal_costs(costs);
  std::vector<Seconds> times;
  for (int step = 0; step < steps; ++step) {
    nominal.jitter.seed = counter_hash(costs.jitter.seed, static_cast<std::uint64_t>(step));
    times.push_back(from_picoseconds(simulate_step(program, nominal).step_time[0]));
  }
  std::sort(times.begin(), times.end());
  return times;
}

StepPercentiles percentiles_of(const std::vector<Seconds>& ascending) {
  CHECK(!ascending.empty(), "percentiles of some steps");
  const double steps = static_cast<double>(ascending.size());
  const auto at = [&](double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * steps));
    return ascending[std::max<std::size_t>(rank, 1) - 1].value;
  };
  return {
      .p50 = at(0.5), .p90 = at(0.9), .p99 = at(0.99), .steps = static_cast<int>(ascending.size())};
}

}  // namespace windtunnel
