#include "planning/measured/calibrate_machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calibrate/build_profile.h"
#include "calibrate/machine.h"
#include "calibrate/measure/anchor.h"
#include "calibrate/session.h"
#include "kernels/device/cpu_device.h"
#include "planning/measured/run_program.h"
#include "runtime/launch/mpi_command.h"
#include "runtime/launch/outcome_files.h"
#include "scenarios/loader.h"
#include "sim/network/placement.h"

namespace windtunnel {

namespace {

constexpr const char* kNumbers = "fp32";  // what the CPU's kernels compute in

std::vector<ShapeUse> shapes_of(std::span<const Program> programs) {
  std::vector<ShapeUse> uses;
  for (const Program& program : programs) {
    for (const ShapeUse& use : list_shapes(program).kernels) uses.push_back(use);
  }
  return uses;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

MachineSamples by_ranks(const CalibrationRequest& request) {
  // A file that cannot be taken up is told before ranks are started; theirs is the first rank's.
  const std::optional<JoinedWorld> joined = joined_world();
  if (!joined || joined->rank == 0) {
    SampleFile(request.samples, machine_line(this_machine(), kNumbers));
  }
  std::vector<std::string> words{"--budget", std::to_string(request.budget_s), "--seed",
                                 std::to_string(request.seed)};
  if (!request.scenario_id.empty()) words.insert(words.end(), {"--id", request.scenario_id});
  for (const std::string& path : request.scenario_paths) {
    words.insert(words.end(), {"--calibrate-for", std::filesystem::absolute(path).string()});
  }
  if (!request.emulate.empty()) {
    words.insert(words.end(), {"--emulate", std::filesystem::absolute(request.emulate).string()});
  }
  if (!request.samples.empty()) {
    words.insert(words.end(), {"--samples", std::filesystem::absolute(request.samples).string()});
  }
  if (!request.storage_folder.empty()) {
    words.insert(words.end(),
                 {"--storage", std::filesystem::absolute(request.storage_folder).string()});
  }
  MachineSamples measured;
  launch_ranks(
      {.ranks = most_ranks(request.programs),
       .program = request.programs.front(),
       .words = std::move(words),
       .hang_after_s = 60.0 + request.budget_s,
       .progress = request.progress},
      [&](const std::string& folder) {
        const std::string path = request.samples.empty() ? samples_path(folder) : request.samples;
        measured = {.samples = SampleFile(path, machine_line(this_machine(), kNumbers)).samples(),
                    .slow = lines_of(slow_path(folder))};
      });
  return measured;
}

MachineSamples alone(const CalibrationRequest& request) {
  constexpr int kShare = 8;             // one measurement takes an eighth of memory and budget
  constexpr double kSlowKernel = 10.0;  // at a tenth of the rough speed
  const Machine machine = this_machine();
  SampleFile file(request.samples, machine_line(machine, kNumbers));
  Anchor anchor;
  Sampler sampler(file, anchor);
  CpuDevice device({.streams = 1, .capacity_bytes = machine.memory_bytes / 2});
  const PlanOptions plan{
      .seed = request.seed,
      .of_point = {.bytes = std::min(std::int64_t{1} << 30, machine.memory_bytes / kShare)},
      .of_scenario = {.bytes = machine.memory_bytes / kShare,
                      .rough_seconds = request.budget_s / kShare / kSlowKernel}};
  measure_alone<float>(
      plan_measurements(request.programs, plan),
      {.budget_s = request.budget_s,
       .seed = request.seed,
       .storage_folder = request.storage_folder,
       .report = [&](const SessionProgress& p) { request.progress(p.what, p.seconds_left); }},
      device, sampler);
  return {.samples = file.samples(), .slow = {}};
}

}  // namespace

int most_ranks(std::span<const Program> programs) {
  std::int64_t most = 1;
  for (const Program& program : programs) most = std::max(most, program.mesh.ranks());
  return static_cast<int>(most);
}

CalibratedNetwork network_of(const Cluster& cluster) {
  if (!cluster.network) return {};
  return {.type = network_type(cluster.network->kind),
          .nic_bandwidth = cluster.network->nic_bandwidth.value};
}

CalibrationTargets targets_of(const std::vector<std::string>& scenario_paths) {
  CalibrationTargets targets;
  for (const std::string& path : scenario_paths) {
    for (const Scenario& s : load_scenarios(path).scenarios) {
      Lowered lowered = lower_scenario(s);
      require_executable(lowered);
      targets.programs.push_back(std::move(lowered.program));
      if (targets.network.type == NetworkType::none) targets.network = network_of(s.cluster);
    }
  }
  return targets;
}

MachineSamples measure_machine(const CalibrationRequest& request) {
  if (!request.emulate.empty()) return by_ranks(request);  // there is nothing else to measure
  const bool ranks =
      most_ranks(request.programs) > 1 && has_rank_program() && (has_mpirun() || joined_world());
  return ranks ? by_ranks(request) : alone(request);
}

Profile profile_of(const CalibrationRequest& request, const MachineSamples& measured,
                   const std::optional<AnchorRates>& rates) {
  if (!request.emulate.empty()) {
    Profile profile = with_transfers(load_profile(request.emulate), measured.samples, request.id,
                                     request.network);
    profile.calibration->slow = measured.slow;
    return profile;
  }
  const Machine machine = this_machine();
  auto facts = fingerprint(machine);
  facts.emplace_back("numbers", kNumbers);
  facts.emplace_back("ranks", std::to_string(most_ranks(request.programs)));
  facts.emplace_back("seed", std::to_string(request.seed));
  Profile profile = build_profile(
      measured.samples, shapes_of(request.programs),
      {.id = request.id,
       .date = today(),
       .fingerprint = std::move(facts),
       .memory_bytes = static_cast<double>(machine.memory_bytes) / most_ranks(request.programs),
       .seed = request.seed,
       .rates = rates,
       .network = request.network});
  profile.calibration->slow = measured.slow;
  return profile;
}

}  // namespace windtunnel
