#pragma once
// A trace is what happened in one training step: the record both executors write, so a simulated
// and a real step compare op by op.
//
// An op is identified by (role, lane, call, op): the simulator's lane stands for one rank of the
// role (or for all ranks of a fold, or for one draw), the runtime's for the rank's place in its
// role; `call` indexes Role::calls, `op` Program::ops. Times are picoseconds since the start of the
// step.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "program/program.h"

namespace windtunnel {

/// The track of what the host itself does (host_work, host_sync): one past the device's streams.
constexpr Stream kHostTrack = Stream::count;

struct TraceRecord {
  std::int16_t role = 0;
  Stream stream = Stream::compute;
  std::int32_t lane = 0;
  std::uint32_t call = 0;
  std::uint32_t op = 0;
  Picoseconds issue = 0;  // the host had handed the op over
  Picoseconds start = 0;  // transfers and collectives: the last member had arrived
  Picoseconds end = 0;

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};

/// A point-to-point transfer: indices of its send's and its receive's record.
struct TraceTransfer {
  std::uint32_t send = 0;
  std::uint32_t recv = 0;

  friend bool operator==(const TraceTransfer&, const TraceTransfer&) = default;
};

struct Trace {
  std::vector<TraceRecord> records;  // per role and lane in host issue order
  std::vector<TraceTransfer> transfers;
};

}  // namespace windtunnel
