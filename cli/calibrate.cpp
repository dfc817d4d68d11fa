#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/build_profile.h"
#include "calibrate/calibration_text.h"
#include "calibrate/machine.h"
#include "calibrate/session.h"
#include "cli/exit_code.h"
#include "cli/verb.h"
#include "core/atomic_file.h"
#include "core/diagnostics.h"
#include "kernels/device/cpu_device.h"
#include "models/cost/calibrated_json.h"
#include "planning/simulate.h"
#include "runtime/rank_blocks.h"
#include "scenarios/loader.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

using KernelNumber = double;  // what this program's CPU kernels compute in
constexpr const char* kKernelNumbers = "fp64";

[[noreturn]] void refuse(const std::string& file, std::string message, std::string hint) {
  throw InputError({{.position = {.file = file},
                     .message = std::move(message),
                     .hint = std::move(hint),
                     .source_line = ""}});
}

int show(const Options& options, Output& output) {
  if (options.words.size() != 2 || options.words.front() != "show") {
    refuse("", "calibrate takes `show PROFILE`, or --for and -o", "windtunnel calibrate --help");
  }
  if (!options.scenarios.empty() || !options.output.empty()) {
    refuse("", "show goes without --for and -o", "windtunnel calibrate show P");
  }
  const Profile profile = load_profile(options.words.back());
  if (!profile.calibration) {
    refuse(options.words.back(), "is a public profile, not a calibration",
           "windtunnel calibrate --for S.yaml -o P writes one");
  }
  output.result(calibration_text(profile));
  return kExitOk;
}

Program program_of(const Scenario& s) {
  if (s.cluster.device != "cpu") {
    throw InputError({diagnostic_at(
        s, "cluster.device",
        fmt::format("calibrate measures this machine's CPU, not {}", s.cluster.device),
        "device: cpu")});
  }
  Program program = lower_scenario(s).program;
  if (const auto problem = find_unstorable(program)) {
    throw InputError({diagnostic_at(s, "plan.precision.compute",
                                    *problem + ", which the CPU's kernels do not compute in",
                                    "precision: {compute: fp32}")});
  }
  return program;
}

std::vector<Program> programs_of(const Options& options) {
  std::vector<Program> programs;
  for (const std::string& path : options.scenarios) {
    std::error_code none;
    for (const std::string& written : {options.output, options.samples}) {
      if (written.empty() || !std::filesystem::equivalent(path, written, none)) continue;
      refuse(written, "is a scenario: it would be written over", "another name after -o");
    }
    for (const Scenario& s : load_scenarios(path).scenarios) programs.push_back(program_of(s));
  }
  return programs;
}

std::vector<Shape> shapes_of(const std::vector<Program>& programs) {
  std::vector<Shape> shapes;
  for (const Program& program : programs) {
    for (const ShapeUse& use : list_shapes(program).kernels) shapes.push_back(use.shape);
  }
  return shapes;
}

/// "cpu" of "out/cpu.profile.json".
std::string id_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.', 1));
}

PlanOptions plan_options(const Options& options, const Machine& machine) {
  // One measurement takes an eighth of the memory and, at a tenth of the rough speed, of the
  // budget.
  constexpr int kShare = 8;
  constexpr double kSlowKernel = 10.0;
  return {.seed = options.seed,
          .of_point = {.bytes = std::min(std::int64_t{1} << 30, machine.memory_bytes / kShare)},
          .of_scenario = {.bytes = machine.memory_bytes / kShare,
                          .rough_seconds = options.budget.value / kShare / kSlowKernel}};
}

Profile measure(const Options& options, Output& output, const std::vector<Program>& programs) {
  const Machine machine = this_machine();
  SampleFile file(options.samples, machine_line(machine, kKernelNumbers));
  Anchor anchor;
  Sampler sampler(file, anchor);
  CpuDevice device({.streams = 1, .capacity_bytes = machine.memory_bytes / 2});
  const auto folder = std::filesystem::path(options.output).parent_path();
  const SessionOptions session{
      .budget_s = options.budget.value,
      .seed = options.seed,
      .storage_folder = folder.empty() ? "." : folder.string(),
      .report = [&](const SessionProgress& p) {
        output.progress(fmt::format("calibrate, {:.0f} s left, {}", p.seconds_left, p.what),
                        static_cast<std::size_t>(p.done), static_cast<std::size_t>(p.planned));
      }};
  measure_alone<KernelNumber>(plan_measurements(programs, plan_options(options, machine)), session,
                              device, sampler);
  auto facts = fingerprint(machine);
  facts.emplace_back("numbers", kKernelNumbers);
  facts.emplace_back("seed", std::to_string(options.seed));
  return build_profile(file.samples(), shapes_of(programs),
                       {.id = id_of(options.output),
                        .date = today(),
                        .fingerprint = std::move(facts),
                        .memory_bytes = static_cast<double>(machine.memory_bytes),
                        .seed = options.seed});
}

}  // namespace

int run_calibrate(const Options& options, Output& output) {
  if (!options.words.empty()) return show(options, output);
  if (options.scenarios.empty()) {
    refuse("", "for which scenarios?", "--for S.yaml, or `show PROFILE`");
  }
  if (options.output.empty()) refuse("", "where to?", "-o cpu.profile.json");
  const std::vector<Program> programs = programs_of(options);
  AtomicFile target(options.output);  // a place that cannot be written to is told before measuring
  const Profile profile = measure(options, output, programs);
  target.write(calibrated_profile_text(profile));
  target.commit();
  output.result(calibration_text(profile));
  return kExitOk;
}

}  // namespace windtunnel
