#include <algorithm>
#include <optional>

#include "calibrate/build_profile.h"
#include "cli/exit_code.h"
#include "cli/rank_answers.h"
#include "cli/verb.h"
#include "core/diagnostics.h"
#include "models/cost/profile.h"
#include "planning/measured/measured_step.h"
#include "planning/measured/run_program.h"
#include "planning/measured/verify_run.h"
#include "planning/require_prices.h"
#include "report/chrome_trace.h"
#include "report/step_json.h"
#include "report/step_text.h"

namespace windtunnel {

namespace {

/// Nothing was computed, so there is no loss to tell.
void note_emulation(StepReport& report, const std::string& path, const Profile& profile) {
  report.losses.clear();
  report.assumptions.push_back("kernels only took the times of " + path +
                               " and computed nothing; transfers and their order are real");
  const Calibration calibration = profile.calibration.value_or(Calibration{});
  const bool rested = std::any_of(calibration.fingerprint.begin(), calibration.fingerprint.end(),
                                  [](const auto& fact) { return fact.first == kTransfers; });
  if (!rested) {
    report.assumptions.push_back("a prediction from " + path +
                                 " takes transfers between ranks that compute; calibrate --emulate "
                                 "measures those of this run");
  }
}

Answer measure(const Scenario& scenario, const Options& options) {
  const Lowered lowered = lower_scenario(scenario);
  std::optional<Profile> emulated;
  require_executable(lowered, !options.emulate.empty());
  if (!options.emulate.empty()) {
    emulated = load_profile(options.emulate);
    require_kernel_prices(lowered, *emulated);
  }
  MeasuredRun run = measured_run(lowered, run_program(run_request(scenario, options), lowered));
  if (emulated) {
    note_emulation(run.report, options.emulate, *emulated);
  } else if (std::string crowded = crowding_text(lowered.program.mesh.ranks()); !crowded.empty()) {
    run.report.assumptions.push_back(std::move(crowded));
  }
  if (!options.trace.empty()) write_chrome_trace(lowered.program, run.trace, options.trace);
  return {.text = options.json ? step_json(run.report) : step_text(run.report),
          .exit_code = kExitOk};
}

Answer prove(const Scenario& scenario, const Options& options) {
  const Lowered lowered = lower_scenario(scenario);
  require_executable(lowered);
  const RunProof proof = verify_run(run_request(scenario, options), lowered);
  return {.text = options.json ? json_of(proof) : text_of(proof),
          .exit_code = proof.equal() ? kExitOk : kExitDoesNotFit};
}

Answer answer_run(const Scenario& scenario, const Options& options) {
  return options.verify ? prove(scenario, options) : measure(scenario, options);
}

}  // namespace

int run_run(const Options& options, Output& output) {
  if (options.verify && !options.emulate.empty()) {
    refuse_file("", "--verify needs what kernels compute, --emulate leaves it out",
                "one of the two");
  }
  if (options.verify) require_own_ranks("run --verify");
  return answer_by_ranks(options, output, answer_run);
}

}  // namespace windtunnel
