#pragma once
// Tier T2: what transfers put on links that other communicators use too. Numbers only: which links
// there are and who uses them is worked out by whoever prices the program.
//
// A transfer alone takes the duration that StepCosts gives it. Of this, `latency` is not shared;
// the rest moves `work` bytes, at work / (duration - latency) bytes per second unless its links
// give it less.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/network/fair_share.h"

namespace windtunnel {

struct LinkFlows {
  /// What the transfers of one kind load: bytes on a link per byte of work. A transfer that leaves
  /// no group beside it without its share has to fit: alone, its own rate fills no link beyond its
  /// capacity, else it is slowed by itself.
  struct Pattern {
    /// All groups of the role at once, as one flow at the rate of each: they work in step.
    std::vector<LinkLoad> folded;
    /// [lane of the unfolded grid] Each group by itself, at the lane of its first member (whose
    /// coordinates on the communicator's axes are 0). Read only where ranks are not folded.
    std::vector<std::vector<LinkLoad>> by_lane;
  };
  struct OpFlow {
    std::uint32_t pattern = UINT32_MAX;  // this: the op shares nothing
    double work = 0.0;                   // bytes
    Picoseconds latency = 0;
  };

  std::vector<double> capacity;  // [link] bytes per second
  std::vector<Pattern> patterns;
  /// [role][op]. Collectives and sends. A collective of several roles has the flow of the lowest.
  std::vector<std::vector<OpFlow>> of_role;

  bool any() const { return !of_role.empty(); }
};

/// How a step with flows was come by.
struct LinkSharing {
  int rounds = 0;           // sweeps; 0: T2 was off
  bool settled = true;      // the last round changed nothing; else the last delays count, or none
                            // where they would leave the clock's range
  std::int64_t slowed = 0;  // transfers that took longer than alone, of all lanes' groups
};

}  // namespace windtunnel
