#pragma once
// Where one rank's time went, from its trace: the same rows and rules as the simulator's time table
// (docs/engine.md, "Where the time goes"), read off what happened instead of being kept on the way.
//
// The compute stream is accounted for without a remainder. A kernel is compute; a transfer on the
// stream is a wait until its last member has arrived and exposed communication after; a gap before
// a kernel is charged to the wait ops that stand between it and what ran before, in host order:
// until the transfer behind the awaited event starts it is a wait for others, while it runs exposed
// communication; what remains is the host's.

#include "planning/measured/joined_trace.h"
#include "report/step_report.h"

namespace windtunnel {

/// Of a step that ended at `step_end` for the whole job. The fields sum to it.
Breakdown rank_breakdown(const Program& program, const JoinedRank& rank, Picoseconds step_end);

}  // namespace windtunnel
