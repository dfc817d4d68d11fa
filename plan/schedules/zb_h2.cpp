#include "plan/schedules/zb_h2.h"

#include <algorithm>

#include "plan/schedules/action_list.h"

namespace windtunnel {

std::vector<ScheduleAction> zb_h2_actions(const ScheduleShape& shape, int rank) {
  const int m = shape.micro_batches;
  const int warm_up = std::min(2 * (shape.pp - rank) - 1, m);
  const int behind = 2 * rank;  // input gradients before the first weight gradient, less one
  ActionList list(1);
  for (int k = 0; k < warm_up; ++k) list.forward(0);
  for (int k = 0; k < m; ++k) {
    list.input_grad(0);
    if (k >= behind) list.weight_grad(0);
    if (k + warm_up < m) list.forward(0);
  }
  for (int k = 0; k < std::min(behind, m); ++k) list.weight_grad(0);
  return list.take();
}

}  // namespace windtunnel
