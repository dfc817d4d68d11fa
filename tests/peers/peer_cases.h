#pragma once
// Which recording has which plan: rows of a recording's variant, the scenario that is lowered for
// it, the lines compared, and the named differences between the two.

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "tests/peers/event_list.h"

namespace windtunnel::peers {

struct PeerCase {
  const char* file;
  const char* variant;
  Detail detail;
  void (*change)(Scenario&);
  std::vector<const char*> differences;  // names of named_differences(), in order of application
  int micro_batches = 1;
};

const std::vector<PeerCase>& peer_cases();

}  // namespace windtunnel::peers
