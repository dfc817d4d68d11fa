#pragma once
// ZB-H1 (Qi et al. 2023, 2401.10241, section 2) and, of v > 1 chunks, its interleaved form (ZB1P in
// pytorch/pytorch pipelining, ScheduleInterleavedZeroBubble): 1F1B with the backward split, the
// weight gradients `rank` backwards behind. w = min((v - 1)N + p - 1 - rank, m v) forwards, then
// forward and input gradient in turn, each followed by the oldest weight gradient once `rank` of
// them wait. Idle per rank (p - 1)(F + I - W)/v for p | m, N = p; min((v - 1)N + p, m v) chunks in
// flight on every rank.
//
// Of v > 1: PyTorch runs groups of N = m / max(1, m / p), so refuses an m that its number of groups
// does not divide; groups shorter than p may wait for each other in a circle. Of v = 1: runs any m;
// sail-sg/zero-bubble-pipeline-parallelism refuses p = 1.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> zb_h1_actions(const ScheduleShape& shape, int rank);
std::optional<std::string> zb_h1_refuses(const ScheduleShape& shape);

}  // namespace windtunnel
