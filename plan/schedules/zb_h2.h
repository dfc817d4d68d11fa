#pragma once
// ZB-H2 (Qi et al. 2023, 2401.10241, section 2): twice the forwards of 1F1B before the first input
// gradient, so that no rank waits between its first and its last action. min(2(p - rank) - 1, m)
// forwards; then input gradients and forwards in turn, a weight gradient between them once
// 2 rank + 1 input gradients are done; then the remaining weight gradients. With F = I = W and
// m >= 2p - 1: no idle time inside, rank r starts r F after rank 0, the step takes
// m(F + I + W) + (p - 1)F; min(2p - 1, m) micro-batches in flight on every rank.
//
// sail-sg/zero-bubble-pipeline-parallelism searches the order for measured costs and a memory
// limit; this one has the idle time and memory of the paper at equal costs. Runs any m.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> zb_h2_actions(const ScheduleShape& shape, int rank);

}  // namespace windtunnel
