#include "sim/engine/step_costs.h"

namespace windtunnel {

StepCosts nominal_costs(const StepCosts& costs) {
  StepCosts one = costs;
  one.draws = 1;
  one.launch = {costs.launch.front()};
  const std::size_t draws = static_cast<std::size_t>(costs.draws);
  one.duration.resize(costs.duration.size() / draws);
  for (std::size_t op = 0; op < one.duration.size(); ++op)
    one.duration[op] = costs.duration[op * draws];
  return one;
}

}  // namespace windtunnel
