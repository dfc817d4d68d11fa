#include "cli/trace_target.h"

#include <filesystem>
#include <system_error>

#include "core/diagnostics.h"

namespace windtunnel {

namespace {

/// By whatever name; neither need be there yet.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (std::filesystem::equivalent(a, b, none)) return true;
  const auto whole = [&none](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  };
  return whole(a) == whole(b);
}

}  // namespace

void keep_inputs(const std::string& target, const std::vector<std::string>& inputs,
                 const std::string& complaint, const std::string& hint) {
  if (target.empty()) return;
  for (const std::string& input : inputs) {
    if (input.empty() || !is_same_file(target, input)) continue;
    refuse_file(target, complaint, hint);
  }
}

void keep_inputs_of(const std::string& trace, const Scenario& scenario) {
  if (scenario.profile == "auto") return;  // the device's public one, no file of the user's
  keep_inputs(trace, {scenario.profile}, "the profile of " + scenario.id);
}

void keep_inputs(const std::string& trace, const std::vector<std::string>& inputs,
                 const std::string& what) {
  keep_inputs(trace, inputs, "is " + what + ": the trace would replace it",
              "for example --trace trace.json");
}

}  // namespace windtunnel
