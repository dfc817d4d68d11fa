#pragma once
// A calibration of this machine for some scenarios: by as many ranks as the largest of them has,
// where there is MPI to start them with, else by this process alone.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/build_profile.h"
#include "calibrate/sample.h"
#include "models/cost/profile.h"
#include "planning/simulate.h"
#include "program/program.h"
#include "scenarios/scenario.h"

namespace windtunnel {

struct CalibrationRequest {
  std::vector<std::string> scenario_paths;
  std::string scenario_id;            // only this one of them; empty: all
  std::span<const Program> programs;  // of all these scenarios
  CalibratedNetwork network{};
  double budget_s = 60.0;
  std::uint64_t seed = 1;
  std::string emulate;  // profile whose kernels stand for those here; empty: they are measured
  std::string id;       // of the profile
  std::string samples;  // file kept for taking it up again; empty: none
  std::string storage_folder;
  std::function<void(const std::string& what, double seconds_left)> progress =
      [](const std::string&, double) {};
};

/// What scenarios need measured.
struct CalibrationTargets {
  std::vector<Program> programs;
  CalibratedNetwork network;  // of the first scenario that has one
};

/// Throws InputError when a scenario is not of this machine's CPU.
CalibrationTargets targets_of(const std::vector<std::string>& scenario_paths);

/// Of the largest of the programs; 1 of none.
int most_ranks(std::span<const Program> programs);

/// A cluster's network between nodes.
CalibratedNetwork network_of(const Cluster& cluster);

struct MachineSamples {
  std::vector<Sample> samples;
  std::vector<std::string> slow;  // nodes and links that are, a line each
};

/// All of one calibration; with `emulate` transfers alone. Throws RunFailed, RunImpossible,
/// InputError, ExecutionError.
MachineSamples measure_machine(const CalibrationRequest& request);

/// With `emulate`, that profile with the measured transfers in place of its own.
/// `rates`: the machine's speed at which times are stated; none: the median of the samples'.
Profile profile_of(const CalibrationRequest& request, const MachineSamples& measured,
                   const std::optional<AnchorRates>& rates = std::nullopt);

}  // namespace windtunnel
