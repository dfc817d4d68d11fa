#include "planning/simulate.h"

#include "cli/exit_code.h"
#include "cli/scenario_answers.h"
#include "cli/verb.h"
#include "core/diagnostics.h"
#include "report/chrome_trace.h"
#include "report/step_json.h"
#include "report/step_text.h"
#include "scenarios/loader.h"

namespace windtunnel {

namespace {

Answer answer_simulate(const Scenario& scenario, const Options& options) {
  const Simulation simulation = simulate(scenario, {.draws = options.draws,
                                                    .seed = options.seed,
                                                    .trace = !options.trace.empty(),
                                                    .jitter = options.jitter});
  if (!options.trace.empty()) {
    write_chrome_trace(simulation.lowered.program, simulation.trace, options.trace);
  }
  const StepReport& report = simulation.report;
  return {.text = options.json ? step_json(report) : step_text(report),
          .exit_code = report.memory.verdict == Verdict::oom ? kExitDoesNotFit : kExitOk};
}

}  // namespace

int run_simulate(const Options& options, Output& output) {
  return answer_scenarios(options, output, answer_simulate);
}

}  // namespace windtunnel
