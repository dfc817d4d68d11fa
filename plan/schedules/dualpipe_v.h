#pragma once
// DualPipeV (deepseek-ai/DualPipe, dualpipev.py; pytorch/pytorch pipelining, ScheduleDualPipeV):
// the V of ZB-V with the forward of one chunk woven together with the backward of the other, so
// that the transfers of one run under the compute of the other. A rank's list has eight phases, of
// counts in p, rank and m; backwards are split only where that fills idle time. With
// F = I = W of a chunk the last ranks are idle for (p - 1)(F&B + B - 3W), all ranks where
// F&B = F + B; 2p + 1 chunks in flight on every rank.
//
// Both implementations refuse fewer micro-batches than the model has chunks, 2p; PyTorch also other
// numbers of chunks per rank than 2.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> dualpipe_v_actions(const ScheduleShape& shape, int rank);
std::optional<std::string> dualpipe_v_refuses(const ScheduleShape& shape);

}  // namespace windtunnel
