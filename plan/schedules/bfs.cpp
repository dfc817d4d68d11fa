#include "plan/schedules/bfs.h"

#include <algorithm>

namespace windtunnel {

std::vector<ScheduleAction> bfs_actions(const ScheduleShape& shape, int) {
  std::vector<ScheduleAction> actions;
  for (int chunk = 0; chunk < shape.virtual_stages; ++chunk) {
    for (int k = 0; k < shape.micro_batches; ++k) {
      actions.push_back({.kind = ScheduleAction::Kind::forward,
                         .chunk = static_cast<std::int16_t>(chunk),
                         .micro_batch = k});
    }
  }
  const std::vector<ScheduleAction> forwards = actions;
  std::for_each(forwards.rbegin(), forwards.rend(), [&](ScheduleAction a) {
    a.kind = ScheduleAction::Kind::backward;
    actions.push_back(a);
  });
  return actions;
}

}  // namespace windtunnel
