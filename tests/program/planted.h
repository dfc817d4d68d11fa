#pragma once
// Mistakes planted in small programs, each with the check that must find it.

#include <ostream>
#include <span>

#include "program/program.h"

namespace windtunnel {

struct Planted {
  const char* name;
  const char* program;  // of small_program_names()
  const char* check;    // of check_table(), or "indices"
  const char* says;     // part of the violation's text
  void (*plant)(Program&);
};

/// How a failed test names it.
void PrintTo(const Planted& planted, std::ostream* out);

std::span<const Planted> planted_mistakes();

}  // namespace windtunnel
