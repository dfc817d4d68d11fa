#pragma once
// What the device streams of fully_shard wait for: a line for each gather, copy, packing and
// reduction of a step, with the work of other streams it newly stands behind.
//
//   all_gather AG layers.1 after compute copy_out root
//
// A wait counts for the next work on its stream; one implied by an earlier wait is left out. A
// recording's stream for copies into gathers is one with that of the gathers.

#include "program/program.h"
#include "tests/peers/event_list.h"
#include "tests/peers/recordings.h"

namespace windtunnel::peers {

/// Of the last recorded step.
EventList recorded_stream_order(const Json& file, const std::string& variant);
EventList lowered_stream_order(const Program& program, int rank);

}  // namespace windtunnel::peers
