#include "planning/measured/rehearse.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/rank_answers.h"
#include "cli/verb.h"
#include "report/chrome_trace.h"
#include "report/compare_json.h"
#include "report/compare_text.h"
#include "report/step_json.h"
#include "report/text_layout.h"
#include "report/trace_pair.h"

namespace windtunnel {

namespace {

std::string speeds_json(const AnchorRates& rates) {
  return fmt::format(R"({{"flops_per_s": {:.6g}, "bytes_per_s": {:.6g}}})", rates.flops_per_s,
                     rates.bytes_per_s);
}

std::string rehearsal_json(const Rehearsal& r, const std::string& comparison) {
  return "{\"measured\": " + step_json(r.measured.report) +
         ",\n\"predicted\": " + step_json(r.predicted.report) + ",\n\"comparison\": " + comparison +
         ",\n\"machine\": {\"calibrating\": " + speeds_json(r.calibrating) +
         ", \"stepping\": " + speeds_json(r.stepping) + "}}";
}

void write_traces(const Rehearsal& r, const std::string& path) {
  const Program& program = r.predicted.lowered.program;
  write_trace_pair(
      [&](const TraceEventSink& sink) { chrome_trace_events(program, r.measured.trace, sink); },
      [&](const TraceEventSink& sink) { chrome_trace_events(program, r.predicted.trace, sink); },
      path);
}

Answer answer_rehearsal(const Scenario& scenario, const Options& options, Output& output) {
  RunRequest run = run_request(scenario, options);
  run.steps = options.rehearsal.steps;
  warn_of_crowding(scenario.cluster.devices(), output);
  const Rehearsal r = rehearse(
      scenario, {.run = std::move(run),
                 .budget_s = options.rehearsal.budget.value,
                 .rounds = options.rehearsal.rounds,
                 .trace = !options.trace.empty(),
                 .progress = [&output](const std::string& what) { output.progress(what); }});
  if (!options.trace.empty()) write_traces(r, options.trace);
  const Comparison comparison = compare_steps(r.measured.report, r.predicted.report);
  const std::vector<Violation> violations = violations_of(comparison, options.limits);
  const int exit_code = violations.empty() ? kExitOk : kExitDoesNotFit;
  if (options.json) {
    return {.text = rehearsal_json(r, comparison_json(comparison, violations)),
            .exit_code = exit_code};
  }
  return {.text = compare_text(comparison) + "\n" + wrap_text(steps_text(r), "steps      ") +
                  wrap_text(prices_text(r), "prices     ") +
                  wrap_text(drift_text(r), "machine    ") +
                  limits_lines(violations, options.limits),
          .exit_code = exit_code};
}

}  // namespace

int run_rehearse(const Options& options, Output& output) {
  require_own_ranks("rehearse");
  return answer_by_ranks(options, output, [&output](const Scenario& s, const Options& o) {
    return answer_rehearsal(s, o, output);
  });
}

}  // namespace windtunnel
