#pragma once
// The host-issue pass: from the order of forwards and backwards of every pipeline rank to the list
// of calls of each role, transfers included.
//
// Asynchronous transfers: a receive is posted one action before the action that needs it (earlier
// for the wrap from the last to the first rank, when the sender finishes), a send follows its
// action, and a send is waited for before the next one in its direction. Blocking transfers: after
// each action (after each forward-backward pair in the steady state of interleaving) one batch of
// the sends it made possible and the receives the next one needs, as NVIDIA/Megatron-LM
// core/pipeline_parallel/schedules.py fuses them.

#include <cstdint>
#include <vector>

#include "plan/chunk_draft.h"
#include "plan/schedules/schedule.h"

namespace windtunnel {

/// One call of the pipeline part of a step, before segments are known.
struct IssuedCall {
  ChunkCall call = ChunkCall::forward;
  std::int16_t chunk = 0;
  std::int32_t micro_batch = 0;
  bool grouped = false;     // starts together with the transfer issued before it
  bool ends_batch = false;  // last transfer of a blocking batch
};

struct PipelineOrder {
  ScheduleShape shape;
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  bool asynchronous = false;
  bool batched = true;  // blocking: a batch is one operation; else its transfers run one by one
};

/// Calls of pipeline rank `rank`, in host issue order. For gpipe, 1f1b and interleaved_1f1b.
std::vector<IssuedCall> issue_order(const PipelineOrder& order, int rank);

/// Whether the schedule's transfers are placed by the sweep of plan/swept_order.h.
bool is_swept(ScheduleKind kind);

/// [pipeline rank]: its calls, for any schedule.
std::vector<std::vector<IssuedCall>> issue_orders(const PipelineOrder& order);

}  // namespace windtunnel
