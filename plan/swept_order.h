#pragma once
// The host-issue pass of schedules whose transfers go both ways: V-shaped placements, split
// backwards, breadth-first order.
//
// All ranks are swept together, one action each in turn, as soon as its inputs have been sent.
// Right after an action that sends stands the send, and at that moment the neighbour's list gets
// the receive: posted early, in the order of the sends, so that no two ranks wait for each other
// (torch/distributed/pipelining/schedules.py, _add_send_recv). A send is waited for before the next
// one to the same neighbour.

#include <vector>

#include "plan/call_order.h"

namespace windtunnel {

/// [pipeline rank]: its calls, in host issue order.
std::vector<std::vector<IssuedCall>> swept_orders(const PipelineOrder& order);

}  // namespace windtunnel
