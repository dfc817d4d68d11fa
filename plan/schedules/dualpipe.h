#pragma once
// DualPipe (DeepSeek-V3, 2412.19437, section 3.2; deepseek-ai/DualPipe, dualpipe.py): two copies of
// the model in opposite directions, half of the micro-batches through each. Rank r and its mirror
// p - 1 - r run the list of DualPipeV's rank min(r, p - 1 - r) of p/2, with the two directions for
// its two chunks. With F = I = W of a chunk the middle ranks are idle for
// (p/2 - 1)(F&B + B - 3W), all ranks where F&B = F + B; p + 1 chunks in flight on every rank,
// parameters twice.
//
// Refuses, as its implementation: an odd p, an odd m, m < 2p.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> dualpipe_actions(const ScheduleShape& shape, int rank);
std::optional<std::string> dualpipe_refuses(const ScheduleShape& shape);

}  // namespace windtunnel
