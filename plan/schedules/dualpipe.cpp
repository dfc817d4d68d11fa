#include "plan/schedules/dualpipe.h"

#include <algorithm>

#include "plan/schedules/dualpipe_v.h"

namespace windtunnel {

std::vector<ScheduleAction> dualpipe_actions(const ScheduleShape& shape, int rank) {
  const int half = shape.micro_batches / 2, mirror = shape.pp - 1 - rank;
  std::vector<ScheduleAction> actions = dualpipe_v_actions(
      {.pp = shape.pp / 2, .virtual_stages = 2, .micro_batches = half}, std::min(rank, mirror));
  for (ScheduleAction& a : actions) {
    // The nearer end's direction is chunk 0 of DualPipeV's rank; chunk 1 is the other end's.
    const bool from_last = (a.chunk == 0) == (mirror < rank);
    a.chunk = from_last ? 1 : 0;
    if (from_last) a.micro_batch += half;
  }
  return actions;
}

std::optional<std::string> dualpipe_refuses(const ScheduleShape& shape) {
  const int p = shape.pp, m = shape.micro_batches;
  if (p % 2 != 0)
    return "dualpipe pairs the pipeline's first ranks with its last: pp " + std::to_string(p) +
           " is odd";
  if (m % 2 != 0 || m < 2 * p)
    return "dualpipe needs an even number of micro-batches, at least 2 pp = " +
           std::to_string(2 * p) + ", not " + std::to_string(m);
  return std::nullopt;
}

}  // namespace windtunnel
