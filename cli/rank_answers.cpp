#include "cli/rank_answers.h"

#include <fmt/format.h>

#include "cli/exit_code.h"

namespace windtunnel {

RunRequest run_request(const Scenario& scenario, const Options& options) {
  return {.scenario_path = options.paths.front(),
          .id = scenario.id,
          .warm_up = options.warm_up,
          .steps = options.steps,
          .seed = options.seed,
          .hang_after_s = options.hang_after_s,
          .emulate = options.emulate};
}

void warn_of_crowding(std::int64_t ranks, Output& output) {
  const std::string crowded = crowding_text(ranks);
  if (!crowded.empty()) output.diagnostic("warning: " + crowded + "\n");
}

int tell_of_ranks(Output& output, const std::function<int()>& body) {
  try {
    return body();
  } catch (const RunImpossible& error) {
    output.diagnostic(fmt::format("error: {}\n", error.what()));
    return kExitMissing;
  } catch (const FirstRankTells&) {
    return kExitOk;
  } catch (const RunFailed& error) {
    output.diagnostic(fmt::format("error: {}\n", error.what()));
    return kExitRunFailed;
  }
}

int answer_by_ranks(const Options& options, Output& output, const AnswerScenario& answer) {
  return tell_of_ranks(output, [&] { return answer_scenarios(options, output, answer); });
}

}  // namespace windtunnel
