#include "planning/measured/emulated_times.h"

#include "models/cost/profile_cost.h"
#include "planning/simulate.h"

namespace windtunnel {

EmulatedCompute emulated_times(const Program& program, const Profile& profile, std::uint64_t seed) {
  EmulatedCompute times{.seconds = {}, .noise = call_noise(profile), .seed = seed};
  const ProfileCostModel model(profile);
  for (const Shape& shape : program.shapes) times.seconds.push_back(model.cost(shape).time.value);
  return times;
}

}  // namespace windtunnel
