#pragma once
// Diagnostics about what a user wrote: where, what is wrong, and what to do.
//
// Every reader collects all errors of a file into a `Diagnostics` and throws one `InputError` at
// the end; `cli/` catches it once, prints it, and exits with 2. Rendering (line, caret, hint) is
// `render()`.

#include <stdexcept>
#include <string>
#include <vector>

namespace windtunnel {

/// A place in a file; line and column start at 1, 0 means "no particular place".
struct SourcePosition {
  std::string file{};
  int line = 0;
  int column = 0;
};

struct Diagnostic {
  SourcePosition position{};
  std::string message;
  std::string hint{};         // allowed values, nearest name, a unit example; may be empty
  std::string source_line{};  // the text of the line, for the caret; may be empty
  int line_offset = 0;        // bytes of the line that were cut off before `source_line`
};

/// `file:line:col: error: message`, then the line, a caret and the hint where there are any.
std::string render(const Diagnostic& diagnostic);

struct InputError : std::runtime_error {
  explicit InputError(std::vector<Diagnostic> all);
  std::vector<Diagnostic> diagnostics;
};

/// One problem of a file as a whole, or, with no file, of the command. Throws InputError.
[[noreturn]] void refuse_file(const std::string& file, std::string message, std::string hint = {});

}  // namespace windtunnel
