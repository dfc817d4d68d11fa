#pragma once
// What the engine answers: when every rank is done and where the time went.
//
// Each lane of a role has a time table: the whole step, seen from its compute stream, split into
// the rows of `categories`. A lane's rows sum exactly to the step time of its draw.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "program/kernel.h"
#include "program/program.h"
#include "program/trace.h"
#include "sim/engine/lane_grid.h"
#include "sim/engine/link_flows.h"

namespace windtunnel {

enum class TimeKind : std::uint8_t {
  compute,       // kernels run (slowed ones for as long as they really took)
  exposed_comm,  // nothing computes while a transfer runs, or is queued behind others
  straggler,     // waiting for the other members of a collective
  bubble,        // waiting for another pipeline stage; idle at the end of the step
  host,          // the next op had not been issued
  input          // the host, or the loader, was still producing the data
};

/// One row of the time table; fields beyond `kind` are set where they mean something.
struct TimeCategory {
  TimeKind kind = TimeKind::compute;
  Module module = Module::none;         // compute
  KernelClass cls = KernelClass::none;  // compute
  bool recompute = false;               // compute
  std::uint32_t comm = kNone;           // exposed_comm: index into Program::comms

  friend bool operator==(const TimeCategory&, const TimeCategory&) = default;
};

struct RoleTiming {
  std::vector<Picoseconds> end;   // [lane]: the rank's last completion, its host's included
  std::vector<Picoseconds> time;  // [category * lanes + lane]
};

struct StepTiming {
  LaneGrid grid;                       // the same for every role
  std::vector<Picoseconds> step_time;  // [draw]: the slowest rank
  std::vector<TimeCategory> categories;
  std::vector<RoleTiming> roles;
  std::int64_t op_executions = 0;  // timed ops of all roles and lanes
  Trace trace;                     // empty unless asked for
  LinkSharing sharing;             // tier T2

  Picoseconds time(int role, std::size_t category, int lane) const {
    const RoleTiming& r = roles[static_cast<std::size_t>(role)];
    return r.time[category * r.end.size() + static_cast<std::size_t>(lane)];
  }
  /// Sum of a lane's rows of one kind.
  Picoseconds total(int role, TimeKind kind, int lane) const {
    Picoseconds sum = 0;
    for (std::size_t c = 0; c < categories.size(); ++c) {
      if (categories[c].kind == kind) sum += time(role, c, lane);
    }
    return sum;
  }
};

}  // namespace windtunnel
