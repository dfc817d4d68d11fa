#pragma once
// Which communicators need their order kept by the sweep.
//
// Ops of one communicator run in issue order whatever their streams. Where events already order
// every two of them (the usual case: the compute stream waits for a collective on another stream
// before the next one), keeping the order costs nothing: the collective's stream is behind the last
// collective anyway.

#include <vector>

#include "sim/engine/instruction.h"

namespace windtunnel {

/// [communicator]: whether some collective of the role is not ordered behind the one before it by
/// its stream and the events. Precondition: the events of `code` are placed.
std::vector<bool> find_unordered_comms(const RoleCode& code, std::size_t comms);

}  // namespace windtunnel
