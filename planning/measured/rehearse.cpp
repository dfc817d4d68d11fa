#include "planning/measured/rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/fit/robust.h"
#include "calibrate/profile_parts.h"
#include "planning/measured/calibrate_machine.h"

namespace windtunnel {

namespace {

/// After a calibration has given its memory back (runtime/distributed/distributed_run.h).
constexpr double kSettle = 3.0;
/// Steps of an idle machine are alike: their mean is within a few per cent of the median.
constexpr double kBusyMean = 1.15;

/// Of what is split over rounds as evenly as it goes, the part of one.
int share_of(int whole, int rounds, int round) {
  return whole / rounds + (round < whole % rounds ? 1 : 0);
}

/// Steps and speeds of a further round behind those before it.
void append(std::vector<RankOutcome>& all, std::vector<RankOutcome>&& round) {
  if (all.empty()) {
    all = std::move(round);
    return;
  }
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::move(round[r].steps.begin(), round[r].steps.end(), std::back_inserter(all[r].steps));
    all[r].speeds.insert(all[r].speeds.end(), round[r].speeds.begin(), round[r].speeds.end());
  }
}

AnchorRates speed_of(const std::vector<RankOutcome>& outcomes) {
  std::vector<double> flops, bytes;
  for (const RankOutcome& rank : outcomes) {
    for (const MachineSpeed& speed : rank.speeds) {
      flops.push_back(speed.flops_per_s);
      bytes.push_back(speed.bytes_per_s);
    }
  }
  return {.flops_per_s = median(flops), .bytes_per_s = median(bytes)};
}

std::string change_text(const char* what, double now, double then) {
  const double percent = 100.0 * (now / then - 1.0);
  return fmt::format("{} {:.1f} % {}", what, std::abs(percent), percent < 0 ? "slower" : "faster");
}

}  // namespace

Rehearsal rehearse(const Scenario& scenario, const RehearsalRequest& request) {
  const Lowered lowered = lower_scenario(scenario);
  require_executable(lowered);
  const int rounds = std::clamp(request.rounds, 1, request.run.steps);
  CalibrationRequest calibration{.scenario_paths = {request.run.scenario_path},
                                 .scenario_id = request.run.id,
                                 .programs = {&lowered.program, 1},
                                 .network = network_of(scenario.cluster),
                                 .budget_s = request.budget_s / rounds,
                                 .seed = request.run.seed,
                                 .id = "rehearsal",
                                 .samples = "",
                                 .storage_folder = ""};
  RunRequest run = request.run;
  run.speeds = true;
  run.settle_s = kSettle;
  MachineSamples measured;
  std::vector<RankOutcome> outcomes;
  for (int round = 0; round < rounds; ++round) {
    calibration.progress = [&](const std::string& what, double left) {
      request.progress(fmt::format("round {} of {}, calibrate, {:.0f} s left, {}", round + 1,
                                   rounds, left, what));
    };
    const MachineSamples slice = measure_machine(calibration);
    measured.samples.insert(measured.samples.end(), slice.samples.begin(), slice.samples.end());
    measured.slow.insert(measured.slow.end(), slice.slow.begin(), slice.slow.end());
    request.progress(fmt::format("round {} of {}, run", round + 1, rounds));
    run.steps = share_of(request.run.steps, rounds, round);
    append(outcomes, run_program(run, lowered));
  }
  Rehearsal rehearsal{.predicted = {},
                      .measured = measured_run(lowered, outcomes),
                      .calibrating = reference_rates(measured.samples),
                      .stepping = speed_of(outcomes)};
  const Profile profile = profile_of(calibration, measured, rehearsal.stepping);
  rehearsal.calibration = *profile.calibration;
  rehearsal.predicted =
      simulate(scenario, {.seed = request.run.seed, .trace = request.trace, .profile = &profile});
  return rehearsal;
}

std::string steps_text(const Rehearsal& rehearsal) {
  const std::vector<double>& steps = rehearsal.measured.report.step_times_s;
  const double typical = rehearsal.measured.report.step_time_s;
  const double mean =
      std::reduce(steps.begin(), steps.end()) / static_cast<double>(steps.size()) / typical;
  const double longest = *std::max_element(steps.begin(), steps.end()) / typical;
  std::string text = fmt::format("{}, their mean {:.2f} and the longest {:.2f} times the median",
                                 steps.size(), mean, longest);
  if (mean > kBusyMean) text += "; the machine was BUSY: rehearse again when it is idle";
  return text;
}

std::string prices_text(const Rehearsal& rehearsal) {
  return quiet_text(rehearsal.calibration) +
         (was_busy(rehearsal.calibration)
              ? "; the machine was BUSY: prices may be far off, rehearse again when it is idle"
              : " while it was calibrated");
}

std::string drift_text(const Rehearsal& rehearsal) {
  const AnchorRates &now = rehearsal.stepping, &then = rehearsal.calibrating;
  return change_text("arithmetic", now.flops_per_s, then.flops_per_s) + " and " +
         change_text("copying", now.bytes_per_s, then.bytes_per_s) +
         " between the steps than beside the calibration; prices are stated at the steps' speed";
}

}  // namespace windtunnel
