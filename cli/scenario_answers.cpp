#include "cli/scenario_answers.h"

#include <algorithm>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/trace_target.h"
#include "core/diagnostics.h"
#include "core/nearest_name.h"
#include "report/json_text.h"
#include "report/step_json.h"
#include "scenarios/loader.h"

namespace windtunnel {

namespace {

std::vector<Scenario> load(const Options& options) {
  ScenarioSet set = load_scenarios(options.paths.front());
  if (options.id.empty() && set.scenarios.size() > 1 && !options.trace.empty()) {
    refuse_file(options.paths.front(), "holds several scenarios, and a trace is of one",
                "name it with --id");
  }
  keep_inputs(options.trace, options.paths, "the scenario");
  keep_inputs(options.trace, {options.emulate}, "the profile to emulate");
  for (const Scenario& scenario : set.scenarios) keep_inputs_of(options.trace, scenario);
  if (options.id.empty()) return std::move(set.scenarios);
  std::vector<std::string_view> names;
  for (Scenario& scenario : set.scenarios) {
    if (scenario.id == options.id) return {std::move(scenario)};
    names.push_back(scenario.id);
  }
  const auto near = nearest_name(options.id, names);
  refuse_file(options.paths.front(), "has no scenario `" + options.id + "`",
              near ? "did you mean `" + *near + "`?" : "");
}

Answer refusal(const std::string& id, const InputError& error, Output& output) {
  output.diagnostic(std::string(error.what()) + "\n");
  return {.text = check_json({.report = {.id = id}, .errors = error.diagnostics}),
          .exit_code = kExitBadInput};
}

}  // namespace

int answer_scenarios(const Options& options, Output& output, const AnswerScenario& answer) {
  std::vector<Scenario> scenarios;
  try {
    scenarios = load(options);
  } catch (const InputError& error) {
    const Answer refused = refusal(options.id, error, output);
    if (options.json) output.result(refused.text + "\n");
    return refused.exit_code;
  }
  std::vector<std::string> documents;
  int exit_code = kExitOk;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    output.progress("scenario", i, scenarios.size());
    Answer given;
    bool refused = false;
    try {
      given = answer(scenarios[i], options);
    } catch (const InputError& error) {
      given = refusal(scenarios[i].id, error, output);
      refused = true;
    }
    exit_code = std::max(exit_code, given.exit_code);
    if (options.json) {
      documents.push_back(std::move(given.text));
    } else if (!refused) {
      output.result((i > 0 ? "\n" : "") + given.text);
    }
    scenarios[i] = {};  // sets are large; what is answered is not needed
  }
  if (options.json) {
    output.result((documents.size() == 1 ? documents.front() : json_array(documents)) + "\n");
  }
  return exit_code;
}

}  // namespace windtunnel
