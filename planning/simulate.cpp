#include "planning/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>

#include "core/check.h"
#include "core/nearest_name.h"
#include "models/architectures/parameters.h"
#include "models/cost/launch_algebra.h"
#include "models/cost/link_shares.h"
#include "models/cost/profile.h"
#include "models/cost/profile_cost.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "planning/breakdown.h"
#include "planning/degraded.h"
#include "planning/memory_answer.h"
#include "planning/plan_lines.h"
#include "planning/price_flows.h"
#include "planning/pricing.h"
#include "planning/provenance.h"
#include "planning/report_head.h"
#include "planning/require_prices.h"
#include "planning/step_noise.h"
#include "planning/traffic.h"
#include "planning/utilization.h"
#include "program/verify.h"
#include "report/bottleneck.h"
#include "scenarios/scenario_place.h"
#include "sim/engine/simulate_step.h"
#include "sim/network/placement.h"

namespace windtunnel {

namespace {

/// Half width of a two-sided 90 % interval of a normal, in standard deviations.
constexpr double kNinetyPercent = 1.645;

Profile profile_of(const Scenario& s) {
  if (s.profile != "auto") {
    std::error_code error;
    if (std::filesystem::exists(s.profile, error)) return load_profile(s.profile);
    throw InputError({diagnostic_at(s, "profile", fmt::format("there is no file {}", s.profile),
                                    "windtunnel calibrate --for this scenario writes one")});
  }
  const std::vector<std::string> known = public_profile_devices();
  if (std::find(known.begin(), known.end(), s.cluster.device) == known.end()) {
    throw InputError({diagnostic_at(
        s, "cluster.device", fmt::format("no public profile for device '{}'", s.cluster.device),
        s.cluster.device == "cpu"
            ? "profile: cpu.profile.json, which windtunnel calibrate --for this scenario -o "
              "cpu.profile.json writes; windtunnel rehearse does without"
            : "profile: PATH of one of yours; public ones: " +
                  join_names({known.begin(), known.end()}))});
  }
  return load_public_profile(s.cluster.device);
}

/// Standard deviation of log(step time) over the draws: costs are log-normal, so is their sum
/// nearly.
double log_sigma(const StepTiming& timing) {
  const std::size_t n = timing.step_time.size();
  if (n < 3) return 0.0;
  double sum = 0, squares = 0;
  for (std::size_t d = 1; d < n; ++d) {
    const double x = std::log(static_cast<double>(timing.step_time[d]) /
                              static_cast<double>(timing.step_time[0]));
    sum += x;
    squares += x * x;
  }
  const double count = static_cast<double>(n - 1);
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, (squares - count * mean * mean) / (count - 1)));
}

/// The report's times with the data loader's (docs/host_effects.md).
void wait_for_input(StepReport& report, const Scenario& s) {
  const auto with_input = [&](double device) {
    return input_bound_step({device}, s.data.load_time, s.data.workers).value;
  };
  const double device = report.step_time_s;
  const double missing = with_input(device) - device;
  for (double& end : report.step_time_interval_s) end = with_input(end);
  if (auto& p = report.step_time_percentiles_s) {
    for (double* time : {&p->p50, &p->p90, &p->p99}) *time = with_input(*time);
  }
  if (report.step_time_sound_s) report.step_time_sound_s = with_input(*report.step_time_sound_s);
  if (missing <= 0) return;
  fill_step_time(report, s, {device + missing});
  report.breakdown.input += missing;
  for (Breakdown& b : report.stages) b.input += missing;
}

/// Percentiles of steps that differ by noise alone.
void fill_percentiles(StepReport& report, const Lowered& lowered, StepCosts costs,
                      const SimulateOptions& options) {
  if (options.jitter) costs.jitter = uniform_noise(lowered.program, *options.jitter);
  costs.jitter.seed = options.seed;
  if (costs.jitter.sigma <= 0.0) return;
  report.step_time_percentiles_s =
      percentiles_of(noisy_step_times(lowered.program, costs, kNoisySteps));
}

void fill_time(StepReport& report, const Lowered& lowered, const StepTiming& timing) {
  const Scenario& s = lowered.resolved.scenario;
  fill_step_time(report, s, from_picoseconds(timing.step_time[0]));
  report.stages = stage_breakdowns(lowered.program, timing);
  report.breakdown = mean_breakdown(report.stages);
  const double stack = s.cluster.unit ? 0.0 : lowered.resolved.rules.time_sigma;
  const double slowdown = s.cluster.unit ? 0.0 : lowered.resolved.rules.slowdown_sigma;
  const double either_way = std::hypot(log_sigma(timing), stack);
  report.step_time_interval_s = {
      report.step_time_s * std::exp(-kNinetyPercent * either_way),
      report.step_time_s * std::exp(kNinetyPercent * std::hypot(either_way, slowdown))};
}

/// Not verified: the callers verify it beside their work and tell nothing before.
Lowered draft_scenario(const Scenario& scenario) {
  Lowered out{.resolved = resolve(scenario), .program = {}};
  out.program = draft(out.resolved);
  return out;
}

/// A calibrated device is the CPU: its streams' queues have no end.
PricingOptions pricing_options(const Profile& profile, const SimulateOptions& options) {
  PricingOptions pricing{.draws = 1 + options.draws, .seed = options.seed};
  if (!profile.calibration) return pricing;
  pricing.run_ahead = 0;
  pricing.overlap = profile.calibration->overlap.value_or(OverlapFigures{});
  return pricing;
}

std::future<void> verify_beside(const Program& program) {
  return std::async(std::launch::async, [&program] { verify(program); });
}

PricedProgram price_on_device(const Program& program, const ProfileCostModel& model,
                              const Cluster& cluster, const SimulateOptions& options) {
  PricedProgram priced = price(program, model, cluster, pricing_options(model.profile(), options));
  priced.costs.jitter.sigma = call_noise(model.profile());
  priced.costs.jitter.seed = options.seed;
  const bool shares = options.sharing == NetworkSharing::always ||
                      (options.sharing == NetworkSharing::automatic &&
                       (model.profile().calibration || passes_wait_for_network(program, cluster)));
  if (!shares || !cluster.network) return priced;
  LinkSpeeds speeds;
  speeds.nic_share = network_efficiency(model.profile(), network_type(cluster.network->kind));
  // Noise and slow parts tell ranks apart, and then each group's flow is its own.
  const bool alike = !priced.costs.jitter.any() && cluster.degraded.empty();
  const Ranks ranks = alike ? Ranks::folded : Ranks::all;
  priced.costs.flows = price_flows({.program = program,
                                    .priced = priced,
                                    .model = model,
                                    .cluster = cluster,
                                    .speeds = speeds,
                                    .ranks = ranks});
  return priced;
}

/// A rank's part of its node's memory bandwidth.
HostShare host_share(const Cluster& cluster) {
  const BytesPerSecond node = cluster.host.memory_bandwidth.value_or(kAssumedHostBandwidth);
  return {.bandwidth = {node.value / cluster.devices_per_node},
          .assumed = !cluster.host.memory_bandwidth};
}

/// Measured transfers are of whole nodes, not of adapters.
void refuse_slow_adapters(const Scenario& s) {
  for (std::size_t i = 0; i < s.cluster.degraded.size(); ++i) {
    if (!s.cluster.degraded[i].nic_bandwidth) continue;
    throw InputError({diagnostic_at(s, fmt::format("cluster.degraded.{}.nic_bandwidth", i),
                                    "transfers measured by a calibration know no adapters",
                                    "a profile of a device, or slowdown")});
  }
}

/// Makes the slow parts of the cluster slow, and says what they are and take.
void slow_down(StepReport& report, PricedProgram& priced, const Lowered& lowered,
               const CostModel* model) {
  const Cluster& cluster = lowered.resolved.scenario.cluster;
  if (cluster.degraded.empty()) return;
  const double sound =
      from_picoseconds(simulate_step(lowered.program, nominal_costs(priced.costs)).step_time[0])
          .value;
  degrade(priced, lowered.program, cluster, model);
  report.degraded = degraded_lines(cluster);
  report.step_time_sound_s = sound;
}

}  // namespace

double call_noise(const Profile& profile) {
  return profile.calibration ? std::min(kMostNoise, profile.calibration->noise) : 0.0;
}

Lowered lower_scenario(const Scenario& scenario) {
  Lowered out = draft_scenario(scenario);
  verify(out.program);
  return out;
}

Simulation simulate(const Scenario& asked, const SimulateOptions& options) {
  Simulation out{.lowered = draft_scenario(asked), .report = {}, .trace = {}};
  const Scenario& scenario = out.lowered.resolved.scenario;
  const Program& program = out.lowered.program;
  std::future<void> verified = verify_beside(program);
  const bool unit = scenario.cluster.unit.has_value();
  out.report = report_head(out.lowered);
  std::optional<ProfileCostModel> model;
  std::future<MemoryAnswer> memory;  // needs no clock, so it runs beside the sweep
  if (!unit) {
    model.emplace(options.profile ? *options.profile : profile_of(scenario),
                  host_share(scenario.cluster));
    require_prices(out.lowered, model->profile());
    memory = std::async(std::launch::async,
                        [&] { return memory_answer(out.lowered, model->profile()); });
  }
  PricedProgram priced = unit ? price_unit(program, scenario.cluster)
                              : price_on_device(program, *model, scenario.cluster, options);
  if (model && model->profile().calibration) refuse_slow_adapters(scenario);
  verified.get();
  slow_down(out.report, priced, out.lowered, model ? &*model : nullptr);
  out.report.traffic = traffic_rows(program);
  const StepTiming timing = simulate_step(program, priced.costs);
  fill_time(out.report, out.lowered, timing);
  fill_percentiles(out.report, out.lowered, priced.costs, options);
  if (!timing.sharing.settled) {
    out.report.assumptions.push_back(fmt::format(
        "transfers that share the network did not settle in {} rounds: the last one counts",
        timing.sharing.rounds));
  }
  if (options.draws == 0) {
    out.report.step_time_interval_s = {out.report.step_time_s, out.report.step_time_s};
  }
  wait_for_input(out.report, out.lowered.resolved.scenario);
  if (model) {
    if (const auto& c = model->profile().calibration; c && was_busy(*c)) {
      out.report.assumptions.push_back("the machine was busy while it was calibrated (" +
                                       quiet_text(*c) + "): prices may be far off");
    }
    out.report.memory = memory.get();
    fill_provenance(out.report, program, priced, *model);
    fill_utilization(out.report, out.lowered.resolved, program, model->profile());
  }
  fill_bottleneck(out.report);
  if (options.trace)
    out.trace = simulate_step(program, nominal_costs(priced.costs), {.trace = true}).trace;
  return out;
}

StepReport check(const Scenario& scenario) {
  const Lowered lowered = draft_scenario(scenario);
  std::future<void> verified = verify_beside(lowered.program);
  StepReport report = report_head(lowered);
  if (!scenario.cluster.unit) {
    const Profile profile = profile_of(scenario);
    if (!profile.calibration) require_kernel_prices(lowered, profile);
    report.memory = memory_answer(lowered, profile);
  }
  verified.get();
  return report;
}

}  // namespace windtunnel
