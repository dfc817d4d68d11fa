#include "cli/rank_answers.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "planning/measured/run_program.h"

namespace windtunnel {

int answer_by_ranks(const Options& options, Output& output, const AnswerScenario& answer) {
  try {
    return answer_scenarios(options, output, answer);
  } catch (const RunImpossible& error) {
    output.diagnostic(fmt::format("error: {}\n", error.what()));
    return kExitMissing;
  } catch (const RunFailed& error) {
    output.diagnostic(fmt::format("error: {}\n", error.what()));
    return kExitRunFailed;
  }
}

}  // namespace windtunnel
