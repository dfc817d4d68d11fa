#include "plan/schedules/interleaved_1f1b.h"

#include <algorithm>

namespace windtunnel {

std::vector<ScheduleAction> interleaved_forward_order(const ScheduleShape& shape) {
  std::vector<ScheduleAction> order;
  order.reserve(static_cast<std::size_t>(shape.micro_batches) *
                static_cast<std::size_t>(shape.virtual_stages));
  for (int begin = 0; begin < shape.micro_batches; begin += shape.micro_batch_group) {
    const int end = std::min(begin + shape.micro_batch_group, shape.micro_batches);
    for (int chunk = 0; chunk < shape.virtual_stages; ++chunk) {
      for (int k = begin; k < end; ++k) {
        order.push_back({.kind = ScheduleAction::Kind::forward,
                         .chunk = static_cast<std::int16_t>(chunk),
                         .micro_batch = k});
      }
    }
  }
  return order;
}

int interleaved_1f1b_warm_up(const ScheduleShape& shape, int rank) {
  const int w = 2 * (shape.pp - rank - 1) + (shape.virtual_stages - 1) * shape.micro_batch_group +
                shape.extra_warm_up;
  return std::min(w, shape.micro_batches * shape.virtual_stages);
}

std::vector<ScheduleAction> interleaved_1f1b_actions(const ScheduleShape& shape, int rank) {
  const std::vector<ScheduleAction> forward = interleaved_forward_order(shape);
  const std::size_t warm_up = static_cast<std::size_t>(interleaved_1f1b_warm_up(shape, rank));
  auto backward = [&](std::size_t i) {
    ScheduleAction a = forward[i];
    a.kind = ScheduleAction::Kind::backward;
    a.chunk = static_cast<std::int16_t>(shape.virtual_stages - 1 - a.chunk);
    return a;
  };
  std::vector<ScheduleAction> actions;
  actions.reserve(2 * forward.size());
  actions.insert(actions.end(), forward.begin(),
                 forward.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = warm_up; i < forward.size(); ++i) {
    actions.push_back(forward[i]);
    actions.push_back(backward(i - warm_up));
  }
  for (std::size_t i = forward.size() - warm_up; i < forward.size(); ++i)
    actions.push_back(backward(i));
  return actions;
}

std::optional<std::string> interleaved_1f1b_refuses(const ScheduleShape& shape) {
  const int p = shape.pp, m = shape.micro_batches, group = shape.micro_batch_group;
  if (group >= p && group <= m && (m % group == 0 || m % group >= p)) return std::nullopt;
  return "interleaving " + std::to_string(m) + " micro-batches in groups of " +
         std::to_string(group) +
         " is refused by the schedule: a group lies in [pp, micro-batches] and the last is 0 or "
         ">= pp";
}

}  // namespace windtunnel
