#pragma once
// The traces of all ranks of a run as one, with the moments that only all together show: a transfer
// starts when its last member has arrived.

#include <vector>

#include "program/program.h"
#include "program/trace.h"
#include "runtime/rank_outcome.h"

namespace windtunnel {

/// One step of every rank, in rank order.
using StepOfRanks = std::vector<const StepOutcome*>;

struct JoinedRank {
  int rank = 0;
  std::vector<TraceRecord> records;   // in issue order; transfers: start is the last arrival
  std::vector<Picoseconds> arrivals;  // by record: when this rank had come to it
};

/// Throws ExecutionError when members of a group did not issue the same transfers.
std::vector<JoinedRank> join_ranks(const Program& program, const StepOfRanks& step);

/// As a simulation writes it: by role, a lane per rank of the role.
Trace trace_of(const Program& program, const std::vector<JoinedRank>& ranks);

}  // namespace windtunnel
