#pragma once
// Interleaved 1F1B (Narayanan et al. 2021, 2104.04473, section 2.2; NVIDIA/Megatron-LM
// core/pipeline_parallel/schedules.py): each rank holds v chunks; groups of N micro-batches go
// through all chunks. w = min(2(p - rank - 1) + (v - 1)N, m v) forwards of warm-up. Idle per rank
// (p - 1)(F + B)/v; min(w + 1, m v) chunks in flight. Needs p <= N <= m and m mod N either 0 or >=
// p.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> interleaved_1f1b_actions(const ScheduleShape& shape, int rank);
int interleaved_1f1b_warm_up(const ScheduleShape& shape, int rank);

}  // namespace windtunnel
