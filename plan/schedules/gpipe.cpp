#include "plan/schedules/gpipe.h"

namespace windtunnel {

std::vector<ScheduleAction> gpipe_actions(const ScheduleShape& shape, int) {
  std::vector<ScheduleAction> actions;
  for (const auto kind : {ScheduleAction::Kind::forward, ScheduleAction::Kind::backward}) {
    for (int k = 0; k < shape.micro_batches; ++k)
      actions.push_back({.kind = kind, .chunk = 0, .micro_batch = k});
  }
  return actions;
}

int gpipe_warm_up(const ScheduleShape& shape, int) {
  return shape.micro_batches;
}

}  // namespace windtunnel
