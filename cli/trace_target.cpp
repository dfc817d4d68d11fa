#include "cli/trace_target.h"

#include <filesystem>
#include <system_error>

#include "core/diagnostics.h"

namespace windtunnel {

void keep_inputs(const std::string& target, const std::vector<std::string>& inputs,
                 const std::string& complaint, const std::string& hint) {
  if (target.empty()) return;
  for (const std::string& input : inputs) {
    std::error_code no_such_file;
    if (input.empty() || !std::filesystem::equivalent(target, input, no_such_file)) continue;
    refuse_file(target, complaint, hint);
  }
}

void keep_inputs_of(const std::string& trace, const Scenario& scenario) {
  keep_inputs(trace, {scenario.profile}, "the profile of " + scenario.id);
}

void keep_inputs(const std::string& trace, const std::vector<std::string>& inputs,
                 const std::string& what) {
  keep_inputs(trace, inputs, "is " + what + ": the trace would replace it",
              "for example --trace trace.json");
}

}  // namespace windtunnel
