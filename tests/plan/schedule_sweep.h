#pragma once
// How long would a pipeline take that runs these lists? A forward of a chunk waits for the forward
// of the chunk before it on the same micro-batch, a backward or input gradient for that of the
// chunk after it, a weight gradient for its input gradient. Every rank runs its list in order, one
// action at a time; of an overlapped pair both start together and end together. Transfers take no
// time.
//
// A chunk is in flight from its forward to the end of its backward or weight gradient.

#include <cstdint>
#include <vector>

#include "plan/schedules/schedule.h"

namespace windtunnel::schedules {

/// Ticks a pass of one chunk takes.
struct PassCosts {
  std::int64_t forward = 0, backward = 0, input_grad = 0, weight_grad = 0;
  std::int64_t pair = 0;  // a forward and a backward, overlapped
};

struct PipelineLists {
  ChunkPlacement placement = ChunkPlacement::loop;
  ScheduleShape shape;
  std::vector<std::vector<ScheduleAction>> ranks;
};

PipelineLists lists_of(const ScheduleRow& row, const ScheduleShape& shape);

struct RankSweep {
  std::int64_t busy = 0;
  std::int64_t first = 0, last = 0;  // start of the first action, end of the last
  int peak = 0;                      // chunks in flight
};

struct Sweep {
  bool deadlock = false;  // some action waits for ever; the rest holds what ran
  std::int64_t makespan = 0;
  std::vector<RankSweep> ranks;

  std::int64_t idle(std::size_t rank) const { return makespan - ranks[rank].busy; }
};

Sweep sweep(const PipelineLists& lists, const PassCosts& costs);

}  // namespace windtunnel::schedules
