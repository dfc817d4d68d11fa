#pragma once
// `validate` for people: a row per scenario, then a summary per source and overall.

#include <string>

#include "planning/validate.h"

namespace windtunnel {

std::string validation_text(const Validation& validation);

}  // namespace windtunnel
