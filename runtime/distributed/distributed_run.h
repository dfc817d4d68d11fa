#pragma once
// One rank of a program under MPI, from start to outcome.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/mpi/mpi_world.h"
#include "program/program.h"
#include "runtime/launch/status_board.h"
#include "runtime/rank_outcome.h"

namespace windtunnel {

/// Numbers a run computes with.
enum class RunNumbers : std::uint8_t { fp32, fp64, field };

struct DistributedRun {
  const Program& program;
  RunNumbers numbers = RunNumbers::fp32;
  const EmulatedCompute* emulated = nullptr;  // kernels only take these times; null: they compute
  Recording recording = Recording::none;
  int warm_up = 1;  // steps that are run and not reported
  /// They go on for as long: a system is busy for a while with memory that others have given back
  /// (Linux tells a hypervisor of it 2 s later, mm/page_reporting.c).
  double settle_s = 0.0;
  int steps = 1;
  std::uint64_t seed = 1;
  std::int64_t capacity_bytes = std::int64_t{1} << 38;  // of this rank's device
  std::function<MachineSpeed()> measure_speed{};        // by all ranks at once; none: not measured
  /// A step has failed, and peers may wait for this rank for ever: must end the process.
  std::function<void(const std::string&)> on_failure{};
};

/// Runs this process's rank. All ranks begin a step together. Throws ExecutionError,
/// OutOfDeviceMemory, TransferError.
RankOutcome run_distributed(const DistributedRun& run, const MpiWorld& world, RankStatus& status);

}  // namespace windtunnel
