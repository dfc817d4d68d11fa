#include "plan/schedules/zb_h1.h"

#include <algorithm>

#include "plan/schedules/action_list.h"

namespace windtunnel {

std::vector<ScheduleAction> zb_h1_actions(const ScheduleShape& shape, int rank) {
  const std::vector<ScheduleAction> order = interleaved_forward_order(shape);
  const int passes = static_cast<int>(order.size());
  const int warm_up =
      std::min((shape.virtual_stages - 1) * shape.micro_batch_group + shape.pp - 1 - rank, passes);
  auto chunk = [&](int i) { return order[static_cast<std::size_t>(i)].chunk; };
  ActionList list(shape.virtual_stages);
  for (int i = 0; i < warm_up; ++i) list.forward(chunk(i));
  for (int i = 0; i < passes; ++i) {
    if (i + warm_up < passes) list.forward(chunk(i + warm_up));
    list.input_grad(shape.virtual_stages - 1 - chunk(i));
    if (i >= rank) list.oldest_weight_grad();
  }
  for (int i = 0; i < std::min(rank, passes); ++i) list.oldest_weight_grad();
  return list.take();
}

std::optional<std::string> zb_h1_refuses(const ScheduleShape& shape) {
  const int m = shape.micro_batches, group = shape.micro_batch_group;
  if (shape.virtual_stages == 1) return std::nullopt;
  if (m % group == 0 && group >= std::min(shape.pp, m)) return std::nullopt;
  return "interleaving " + std::to_string(m) + " micro-batches in groups of " +
         std::to_string(group) +
         " is refused by the schedule: a group divides the micro-batches and is all of them or at "
         "least pp";
}

}  // namespace windtunnel
