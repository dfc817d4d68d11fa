#include "cli/exit_code.h"
#include "cli/scenario_answers.h"
#include "cli/verb.h"
#include "core/diagnostics.h"
#include "planning/simulate.h"
#include "report/step_json.h"
#include "report/step_text.h"

namespace windtunnel {

namespace {

Answer answer_check(const Scenario& scenario, const Options& options) {
  // Lowering refuses the first of these; a check names them all.
  if (!scenario.not_built.empty()) throw InputError(scenario.not_built);
  const StepReport report = check(scenario);
  return {.text = options.json ? check_json({.report = report, .errors = {}}) : check_text(report),
          .exit_code = report.memory.verdict == Verdict::oom ? kExitDoesNotFit : kExitOk};
}

}  // namespace

int run_check(const Options& options, Output& output) {
  return answer_scenarios(options, output, answer_check);
}

}  // namespace windtunnel
