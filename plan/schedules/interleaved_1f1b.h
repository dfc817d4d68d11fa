#pragma once
// Interleaved 1F1B (Narayanan et al. 2021, 2104.04473, section 2.2; NVIDIA/Megatron-LM
// core/pipeline_parallel/schedules.py): each rank holds v chunks; groups of N micro-batches go
// through all chunks. w = min(2(p - rank - 1) + (v - 1)N, m v) forwards of warm-up, one more where
// expert-parallel transfers overlap (shape.extra_warm_up). Idle per rank (p - 1)(F + B)/v;
// min(w + 1, m v) chunks in flight.
//
// Refuses, as Megatron-LM: N outside [p, m], and m mod N between 1 and p - 1. pytorch/pytorch runs
// groups of N = m / max(1, m / p) only, so fewer micro-batches than p too, and refuses a remainder.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> interleaved_1f1b_actions(const ScheduleShape& shape, int rank);
int interleaved_1f1b_warm_up(const ScheduleShape& shape, int rank);
std::optional<std::string> interleaved_1f1b_refuses(const ScheduleShape& shape);

}  // namespace windtunnel
