#pragma once
// One line that names an op or a call in an error.

#include <string>

#include "program/program.h"

namespace windtunnel {

std::string text_of(const Program& program, const Op& op);
std::string text_of(const Program& program, const Call& call);

}  // namespace windtunnel
