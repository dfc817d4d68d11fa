#include "plan/schedules/zb_v.h"

#include <algorithm>

#include "plan/schedules/action_list.h"

namespace windtunnel {

namespace {

void input_and_weight_grad(ActionList& list, int chunk) {
  list.input_grad(chunk);
  list.weight_grad(chunk);
}

}  // namespace

std::vector<ScheduleAction> zb_v_actions(const ScheduleShape& shape, int rank) {
  const int p = shape.pp, m = std::max(shape.micro_batches, 2 * p - 1);
  ActionList list(2);
  // Until the last chunk's first gradient: down the V, then down and up in turn.
  for (int i = 0; i < 2 * (p - rank) - 1; ++i) list.forward(0);
  for (int i = 0; i < rank; ++i) {
    list.forward(1);
    list.forward(0);
  }
  // Until the first gradient has come around to chunk 0.
  for (int i = 0; i < p - rank; ++i) {
    list.forward(1);
    input_and_weight_grad(list, 1);
  }
  // Both chunks run all three passes; forwards of chunk 0 are p - rank - 1 ahead and end first.
  const int more_forwards = m - (2 * p - rank - 1);
  for (int i = 0; i < m - p; ++i) {
    if (i < more_forwards) list.forward(0);
    input_and_weight_grad(list, 0);
    list.forward(1);
    input_and_weight_grad(list, 1);
  }
  // Input gradients first: other ranks wait for them.
  for (int i = 0; i < rank; ++i) {
    list.input_grad(0);
    list.input_grad(1);
  }
  for (int i = 0; i < p - rank; ++i) input_and_weight_grad(list, 0);
  for (const int chunk : {1, 0}) {
    for (int i = 0; i < rank; ++i) list.weight_grad(chunk);
  }
  std::vector<ScheduleAction> actions = list.take();
  std::erase_if(actions,
                [&](const ScheduleAction& a) { return a.micro_batch >= shape.micro_batches; });
  return actions;
}

}  // namespace windtunnel
