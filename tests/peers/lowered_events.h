#pragma once
// What a rank of a lowered program issues in a step that is not the first, in the lines of
// event_list.h.
//
// A unit's compute begins at its first kernel and ends at its last; collectives over the
// tensor-parallel group inside a layer belong to it. Work whose unit is no part of the model (data,
// loss, optimizer, packing) has no mark.

#include "program/program.h"
#include "tests/peers/event_list.h"

namespace windtunnel::peers {

EventList lowered_events(const Program& program, int rank, Detail detail);

}  // namespace windtunnel::peers
