#include "cli/trace_target.h"

#include <filesystem>
#include <system_error>

#include "core/diagnostics.h"

namespace windtunnel {

void keep_inputs(const std::string& trace, const std::vector<std::string>& inputs,
                 const std::string& what) {
  if (trace.empty()) return;
  for (const std::string& input : inputs) {
    std::error_code no_such_file;
    if (input.empty() || !std::filesystem::equivalent(trace, input, no_such_file)) continue;
    throw InputError({{.position = {.file = trace},
                       .message = "is " + what + ": the trace would replace it",
                       .hint = "for example --trace trace.json",
                       .source_line = ""}});
  }
}

}  // namespace windtunnel
