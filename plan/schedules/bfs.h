#pragma once
// Looped breadth-first (Lamy-Poirier 2022, 2211.05953; pytorch/pytorch pipelining,
// ScheduleLoopedBFS): every micro-batch forward through chunk 0, then through chunk 1, ...; then
// backward through the chunks from the last to the first, the last micro-batch first. Idle per rank
// (p - 1)(F + B)/v; m v chunks in flight; parameters are needed once for the forwards and once for
// the backwards of a chunk. Runs any m and v.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> bfs_actions(const ScheduleShape& shape, int rank);

}  // namespace windtunnel
