#include "planning/measured/emulated_times.h"

#include "models/cost/profile_cost.h"
#include "planning/degraded.h"

namespace windtunnel {

EmulatedCompute emulated_times(const Lowered& lowered, const Profile& profile, std::uint64_t seed) {
  const Program& program = lowered.program;
  EmulatedCompute times{.seconds = {}, .noise = call_noise(profile), .seed = seed};
  for (const SlowRank& slow : slow_ranks(lowered.resolved.scenario.cluster)) {
    times.slowdown[slow.rank] = slow.factor;
  }
  const ProfileCostModel model(profile);
  for (const Shape& shape : program.shapes) times.seconds.push_back(model.cost(shape).time.value);
  return times;
}

}  // namespace windtunnel
