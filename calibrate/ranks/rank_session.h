#pragma once
// A calibration by several ranks, of one machine or of several: all ranks measure the same kernel
// at the same time, so that costs are those of machines all of whose ranks are at work, then
// transfers and how these and kernels slow each other. Rank 0's kernels count, and the mean of all
// groups' transfers.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/session.h"
#include "kernels/mpi/mpi_world.h"
#include "program/program.h"

namespace windtunnel {

struct RankCalibration {
  std::span<const Program> programs;
  double budget_s = 60.0;
  std::uint64_t seed = 1;
  bool emulated = false;       // transfers alone, between ranks that rest meanwhile
  std::string samples;         // file of rank 0
  std::string storage_folder;  // empty: storage is not measured
  /// Called as often as anything moves.
  std::function<void(const SessionProgress&)> progress = [](const SessionProgress&) {};
};

/// On rank 0 what is slow (slow_parts.h), a line each. Throws ExecutionError, InputError,
/// TransferError.
std::vector<std::string> calibrate_rank(const RankCalibration& calibration, const MpiWorld& world);

}  // namespace windtunnel
