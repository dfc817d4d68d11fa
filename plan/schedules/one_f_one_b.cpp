#include "plan/schedules/one_f_one_b.h"

#include <algorithm>

namespace windtunnel {

int one_f_one_b_warm_up(const ScheduleShape& shape, int rank) {
  return std::min(shape.pp - 1 - rank, shape.micro_batches);
}

std::vector<ScheduleAction> one_f_one_b_actions(const ScheduleShape& shape, int rank) {
  using Kind = ScheduleAction::Kind;
  const int warm_up = one_f_one_b_warm_up(shape, rank);
  std::vector<ScheduleAction> actions;
  for (int k = 0; k < warm_up; ++k)
    actions.push_back({.kind = Kind::forward, .chunk = 0, .micro_batch = k});
  for (int k = warm_up; k < shape.micro_batches; ++k) {
    actions.push_back({.kind = Kind::forward, .chunk = 0, .micro_batch = k});
    actions.push_back({.kind = Kind::backward, .chunk = 0, .micro_batch = k - warm_up});
  }
  for (int k = shape.micro_batches - warm_up; k < shape.micro_batches; ++k) {
    actions.push_back({.kind = Kind::backward, .chunk = 0, .micro_batch = k});
  }
  return actions;
}

}  // namespace windtunnel
