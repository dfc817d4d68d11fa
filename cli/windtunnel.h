#pragma once
// One use of the program: parse the command line, run the verb, turn what it throws into a message
// and an exit status.

#include <span>

#include "cli/verb.h"

namespace windtunnel {

/// The exit status: the verb's, 2 for an InputError, 3 when memory runs out, 70 for any other
/// exception, which is a bug of ours.
int run(std::span<const Verb> verbs, int argc, const char* const* argv);

}  // namespace windtunnel
