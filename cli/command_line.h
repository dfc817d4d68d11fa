#pragma once
// From argv to a verb and its options.

#include <span>
#include <string>
#include <variant>

#include "cli/options.h"
#include "cli/verb.h"

namespace windtunnel {

struct Command {
  const Verb* verb = nullptr;
  Options options;
};

/// Help or the version: text for standard output.
struct Help {
  std::string text;
};

/// Throws InputError for bad usage.
std::variant<Command, Help> parse_command_line(std::span<const Verb> verbs, int argc,
                                               const char* const* argv);

}  // namespace windtunnel
