#pragma once
// What `validate --json` prints, with the keys of docs/scenario_format.md.

#include <string>

#include "planning/validate.h"

namespace windtunnel {

/// What no row states is null; so is a regret that is infinite, which `oom_choices` tells from one
/// that there is nothing to say of.
std::string validation_json(const Validation& validation);

}  // namespace windtunnel
