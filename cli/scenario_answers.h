#pragma once
// A verb's answer for every scenario of a file: all of a set in order, or the one of `--id`.
//
// Text is printed as it comes; JSON is one document, an array when several scenarios are answered.
// A scenario that is refused has its diagnostics on standard error and, with --json, {id, memory:
// null, errors} in its place; the others are answered.

#include <functional>
#include <string>

#include "cli/options.h"
#include "cli/output.h"
#include "scenarios/scenario.h"

namespace windtunnel {

struct Answer {
  std::string text;  // or JSON
  int exit_code = 0;
};

using AnswerScenario = std::function<Answer(const Scenario& scenario, const Options& options)>;

/// The largest exit status of all answers; 2 when a scenario or the file was refused.
int answer_scenarios(const Options& options, Output& output, const AnswerScenario& answer);

}  // namespace windtunnel
