#include <exception>
#include <new>
#include <string>
#include <variant>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "core/diagnostics.h"

namespace windtunnel {

namespace {

int run(int argc, const char* const* argv, Output& output) {
  const auto parsed = parse_command_line(argc, argv);
  if (const Help* help = std::get_if<Help>(&parsed)) {
    output.result(help->text);
    return kExitOk;
  }
  const Command& command = std::get<Command>(parsed);
  return command.verb->run(command.options, output);
}

int run_and_explain(int argc, const char* const* argv) {
  Output output;
  try {
    return run(argc, argv, output);
  } catch (const InputError& error) {
    output.diagnostic(std::string(error.what()) + "\n");
    return kExitBadInput;
  } catch (const std::bad_alloc&) {
    output.diagnostic("error: this machine has too little memory for the scenario\n");
    return kExitMissing;
  } catch (const std::exception& error) {
    output.diagnostic(std::string("internal error: ") + error.what() +
                      "\n  This is a bug of Windtunnel: please report it, with the command and "
                      "the scenario.\n");
    return kExitInternalError;
  }
}

}  // namespace

}  // namespace windtunnel

int main(int argc, char** argv) {
  return windtunnel::run_and_explain(argc, argv);
}
