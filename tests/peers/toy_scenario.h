#pragma once
// The scenario that is lowered for a recorded variant.

#include "tests/peers/peer_cases.h"
#include "tests/peers/recordings.h"

namespace windtunnel::peers {

/// The recorded toy model on as many devices as were recorded, then changed as the row says.
Scenario scenario_of(const PeerCase& row, const Json& file);

}  // namespace windtunnel::peers
