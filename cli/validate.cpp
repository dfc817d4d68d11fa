#include "planning/validate.h"

#include "cli/exit_code.h"
#include "cli/verb.h"
#include "planning/validate_json.h"
#include "planning/validate_text.h"

namespace windtunnel {

int run_validate(const Options& options, Output& output) {
  const Validation validation =
      validate(options.paths, {.threads = validation_threads(),
                               .predict = predict,
                               .progress = [&output](std::size_t done, std::size_t total) {
                                 output.progress("validate", done, total);
                               }});
  for (const std::string& error : validation.load_errors) output.diagnostic(error + "\n");
  output.result(options.json ? validation_json(validation) + "\n" : validation_text(validation));
  if (validation.internal_error) return kExitInternalError;
  return validation.summaries.overall.refused > 0 ? kExitBadInput : kExitOk;
}

}  // namespace windtunnel
