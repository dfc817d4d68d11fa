#pragma once
// What a program's execution fails with.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "runtime/interpreter.h"

namespace windtunnel::toy {

/// The text of the ExecutionError of one step in the field; "no error" when it runs.
inline std::string error_of(const Program& program) {
  try {
    execute(program, {.mode = NumberMode::field, .steps = 1});
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_has(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' not in: " << text;
}

}  // namespace windtunnel::toy
