#include "cli/windtunnel.h"

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

int parse_and_run(std::span<const Verb> verbs, int argc, const char* const* argv, Output& output) {
  const auto parsed = parse_command_line(verbs, argc, argv);
  if (const Help* help = std::get_if<Help>(&parsed)) {
    output.result(help->text);
    return kExitOk;
  }
  const Command& command = std::get<Command>(parsed);
  return command.verb->run(command.options, output);
}

}  // namespace

int run(std::span<const Verb> verbs, int argc, const char* const* argv) {
  Output output;
  try {
    return parse_and_run(verbs, argc, argv, output);
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

}  // namespace windtunnel
