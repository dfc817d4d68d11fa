#include "plan/schedules/dualpipe_v.h"

#include "plan/schedules/action_list.h"

namespace windtunnel {

namespace {

/// The forwards before the first gradient and those between the first ones of chunk 1.
void fill(ActionList& list, int p, int rank) {
  for (int i = 0; i < 2 * (p - rank - 1); ++i) list.forward(0);
  for (int i = 0; i <= rank; ++i) {
    list.forward(0);
    list.forward(1);
  }
  for (int i = 0; i < p - rank - 1; ++i) {
    list.input_grad(1);
    list.oldest_weight_grad();
    list.forward(1);
  }
}

/// The pairs: while both chunks have forwards left, then while chunk 1 has.
void pairs(ActionList& list, const ScheduleShape& shape, int rank) {
  const int p = shape.pp, both = shape.micro_batches - 2 * p + rank + 1;
  for (int i = 0; i < both; ++i) {
    if (i == 0 && rank == p - 1) {
      // One after the other: the turn of the V waits for this forward before anything else.
      list.forward(0);
      list.backward(1);
    } else {
      list.forward_over_backward(0, 1);
    }
    list.forward_over_backward(1, 0);
  }
  for (int i = 0; i < p - rank - 1; ++i) {
    list.backward(1);
    list.forward_over_backward(1, 0);
  }
}

/// The last backwards: of the first rank + 1 the weight gradients run at once, of the others last.
void drain(ActionList& list, int p, int rank) {
  for (int i = 0; i < 2 * (rank + 1); ++i) {
    const int chunk = 1 - i % 2;
    if (i <= rank)
      list.backward(chunk);
    else
      list.input_grad(chunk);
  }
  for (int i = 0; i < p - rank - 1; ++i) {
    list.oldest_weight_grad();
    list.input_grad(0);
  }
  for (int i = 0; i <= rank; ++i) list.oldest_weight_grad();
}

}  // namespace

std::vector<ScheduleAction> dualpipe_v_actions(const ScheduleShape& shape, int rank) {
  ActionList list(2);
  fill(list, shape.pp, rank);
  pairs(list, shape, rank);
  drain(list, shape.pp, rank);
  return list.take();
}

std::optional<std::string> dualpipe_v_refuses(const ScheduleShape& shape) {
  if (shape.micro_batches >= 2 * shape.pp) return std::nullopt;
  return "dualpipe_v needs at least 2 pp = " + std::to_string(2 * shape.pp) +
         " micro-batches, as many as the model has chunks, not " +
         std::to_string(shape.micro_batches);
}

}  // namespace windtunnel
