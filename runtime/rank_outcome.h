#pragma once
// What one rank of a run brings back, and its packing into bytes that travel between processes of
// one machine type.

#include <cstdint>
#include <string>
#include <vector>

#include "program/trace.h"
#include "runtime/device_rank.h"

namespace windtunnel {

/// Transfers of one kind on one communicator in a step, counted where they left; `kind` as
/// WireKind counts.
struct WireTraffic {
  std::string communicator;
  std::int32_t kind = 0;
  std::int64_t count = 0, bytes = 0;

  friend bool operator==(const WireTraffic&, const WireTraffic&) = default;
};

struct StepOutcome {
  double loss = 0.0;
  bool has_loss = false;
  Picoseconds end = 0;  // this rank's last op, from the step's common zero
  DevicePeak memory;
  std::vector<WireTraffic> traffic;
  std::vector<TraceRecord> records;  // in issue order; lane: the rank
  StepRecord values;                 // of a verification
};

/// How fast the machine was at a moment: rates of two small fixed programs that all ranks ran at
/// once. FLOP/s and B/s.
struct MachineSpeed {
  double flops_per_s = 0.0, bytes_per_s = 0.0;
};

struct RankOutcome {
  int rank = 0;
  std::vector<StepOutcome> steps;
  /// Before each of the steps and after the last; empty: not measured.
  std::vector<MachineSpeed> speeds{};
};

std::string pack(const RankOutcome& outcome);
/// Throws ExecutionError when the bytes are not what `pack` makes.
RankOutcome unpack_outcome(const std::string& bytes);

}  // namespace windtunnel
