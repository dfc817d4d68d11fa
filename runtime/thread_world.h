#pragma once
// Executes a program on devices with a thread per rank in one process: the device's path without
// MPI, for proofs and for checking its threads.

#include <vector>

#include "program/program.h"
#include "program/trace.h"
#include "runtime/execution.h"
#include "runtime/rank_blocks.h"

namespace windtunnel {

/// What a thread world gives back beside the record: what the devices saw in the last step.
struct ThreadWorldRecord {
  ExecutionRecord record;
  std::vector<DevicePeak> memory;                 // by rank
  std::vector<std::vector<TraceRecord>> records;  // by rank, in issue order
  std::vector<double> losses;                     // by step, of the last rank
};

/// Throws ExecutionError. `options.allocation_granularity` has no meaning here: blocks are the
/// allocator's.
ThreadWorldRecord execute_in_threads(const Program& program, const ExecutionOptions& options);

}  // namespace windtunnel
