#pragma once
// 1F1B (PipeDream-Flush, Narayanan et al. 2021, 2104.04473): w = min(p - 1 - rank, m) forwards,
// then pairs of one forward and one backward, then the remaining backwards. Idle per rank
// (p - 1)(F + B); at most min(p - rank, m) micro-batches in flight. Runs any m, as
// NVIDIA/Megatron-LM does; pytorch/pytorch refuses m < p.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> one_f_one_b_actions(const ScheduleShape& shape, int rank);
int one_f_one_b_warm_up(const ScheduleShape& shape, int rank);

}  // namespace windtunnel
