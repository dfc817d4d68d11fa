#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/calibration_text.h"
#include "cli/exit_code.h"
#include "cli/rank_answers.h"
#include "cli/trace_target.h"
#include "cli/verb.h"
#include "core/atomic_file.h"
#include "core/diagnostics.h"
#include "models/cost/calibrated_json.h"
#include "planning/measured/calibrate_machine.h"
#include "planning/measured/run_program.h"

namespace windtunnel {

namespace {

int show(const Options& options, Output& output) {
  if (options.words.size() != 2 || options.words.front() != "show") {
    refuse_file("", "calibrate takes `show PROFILE`, or --for and -o",
                "windtunnel calibrate --help");
  }
  if (!options.scenarios.empty() || !options.output.empty()) {
    refuse_file("", "show goes without --for and -o", "windtunnel calibrate show P");
  }
  const Profile profile = load_profile(options.words.back());
  if (!profile.calibration) {
    refuse_file(options.words.back(), "is a public profile, not a calibration",
                "windtunnel calibrate --for S.yaml -o P writes one");
  }
  output.result(calibration_text(profile));
  return kExitOk;
}

/// "cpu" of "out/cpu.profile.json".
std::string id_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.', 1));
}

Profile measure(const Options& options, Output& output, const CalibrationTargets& targets) {
  const auto folder = std::filesystem::path(options.output).parent_path();
  const CalibrationRequest request{
      .scenario_paths = options.scenarios,
      .programs = targets.programs,
      .network = targets.network,
      .budget_s = options.budget.value,
      .seed = options.seed,
      .emulate = options.emulate,
      .id = id_of(options.output),
      .samples = options.samples,
      .storage_folder = folder.empty() ? "." : folder.string(),
      .progress = [&](const std::string& what, double left) {
        output.progress(fmt::format("calibrate, {:.0f} s left, {}", left, what));
      }};
  return profile_of(request, measure_machine(request));
}

}  // namespace

int run_calibrate(const Options& options, Output& output) {
  if (!options.words.empty()) return show(options, output);
  if (options.scenarios.empty()) {
    refuse_file("", "for which scenarios?", "--for S.yaml, or `show PROFILE`");
  }
  if (options.output.empty()) refuse_file("", "where to?", "-o cpu.profile.json");
  for (const std::string& written : {options.output, options.samples}) {
    keep_inputs(written, options.scenarios, "is a scenario: it would be written over",
                "another name after -o");
  }
  keep_inputs(options.output, {options.samples}, "is the file of the samples too",
              "another name after -o or --samples");
  if (!options.emulate.empty() && !load_profile(options.emulate).calibration) {
    refuse_file(options.emulate, "is a public profile, and kernels here are those of a calibration",
                "windtunnel calibrate --for S.yaml -o P writes one");
  }
  const CalibrationTargets targets = targets_of(options.scenarios);
  if (options.emulate.empty()) warn_of_crowding(most_ranks(targets.programs), output);
  AtomicFile target(options.output);  // a place that cannot be written to is told before measuring
  return tell_of_ranks(output, [&] {
    const Profile profile = measure(options, output, targets);
    const std::string text = calibrated_profile_text(profile);
    parse_profile(text, options.output);  // of odd samples nothing is written that cannot be read
    target.write(text);
    target.commit();
    output.result(calibration_text(profile));
    return kExitOk;
  });
}

}  // namespace windtunnel
