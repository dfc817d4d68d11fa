#pragma once
// The answers of verbs that start ranks: as answer_scenarios, and with the failures of ranks told.

#include <functional>

#include "cli/scenario_answers.h"
#include "planning/measured/run_program.h"

namespace windtunnel {

/// What is asked of the ranks of a scenario.
RunRequest run_request(const Scenario& scenario, const Options& options);

/// A warning where ranks outnumber processors.
void warn_of_crowding(std::int64_t ranks, Output& output);

/// What `body` returns; 3 when ranks cannot be started, 4 when one died or hung, told on `output`;
/// 0 where the first rank of a joined world tells the result.
int tell_of_ranks(Output& output, const std::function<int()>& body);

/// Also 3 when ranks cannot be started, 4 when one died or hung.
int answer_by_ranks(const Options& options, Output& output, const AnswerScenario& answer);

}  // namespace windtunnel
