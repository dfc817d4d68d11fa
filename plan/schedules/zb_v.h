#pragma once
// ZB-V (Qi et al. 2023, 2401.10241, section 6; pytorch/pytorch pipelining, ScheduleZBVZeroBubble):
// two chunks per rank placed as a V, backward split. With F = I = W of a chunk and m >= 2p - 1 no
// rank waits between its first and last action and rank r starts r F after rank 0; at most
// min(2p, 2m) chunks in flight, as many activations as 1F1B's first rank, on every rank.
//
// Of fewer micro-batches than 2p - 1 the order is that of 2p - 1 without the missing ones, as in
// PyTorch, which refuses only another number of chunks than 2.
// sail-sg/zero-bubble-pipeline-parallelism searches the order for measured costs.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> zb_v_actions(const ScheduleShape& shape, int rank);

}  // namespace windtunnel
