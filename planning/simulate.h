#pragma once
// One simulation, from a scenario to a step report: resolve, lower, price, sweep, replay memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/cost/cost_model.h"
#include "models/cost/profile.h"
#include "plan/resolved.h"
#include "program/program.h"
#include "program/trace.h"
#include "report/step_report.h"

namespace windtunnel {

/// What transfers of different communicators on one network do to each other (tier T2).
enum class NetworkSharing : std::uint8_t {
  automatic,  // they share it where forward or backward wait for it, and by a calibration
  never,
  always
};

struct SimulateOptions {
  int draws = 32;  // draws of the uncertain costs for the interval; 0: no interval
  std::uint64_t seed = 1;
  bool trace = false;  // keep the trace of the nominal step
  /// Relative deviation of kernels and transfers from call to call, for percentiles of the step
  /// time; none: what the profile measured. 0 to kMostNoise.
  std::optional<double> jitter{};
  NetworkSharing sharing = NetworkSharing::automatic;
  const Profile* profile = nullptr;  // prices by this one, whatever the scenario names
};

/// A lowered scenario with everything the simulations of it share.
struct Lowered {
  ResolvedScenario resolved;
  Program program;
};

struct Simulation {
  Lowered lowered;
  StepReport report;
  Trace trace;  // empty unless asked for
};

/// A profile's noise from call to call, as far as an engine draws it; 0 of one that states none.
double call_noise(const Profile& profile);

/// Throws InputError when the scenario cannot be lowered or its device has no profile.
Lowered lower_scenario(const Scenario& scenario);
Simulation simulate(const Scenario& scenario, const SimulateOptions& options);
/// Memory alone, without timing.
StepReport check(const Scenario& scenario);

}  // namespace windtunnel
