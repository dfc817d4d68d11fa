#pragma once
// Standard output carries results, standard error diagnostics and progress.
//
// Results are written at once and in full; a closed pipe or a full disk is an InputError that says
// so. What standard error does not take is lost: there is nowhere to say it.

#include <cstddef>
#include <string_view>

namespace windtunnel {

class Output {
 public:
  Output();

  /// To standard output. Throws InputError when it does not take it.
  void result(std::string_view text);

  /// To standard error; a line of progress is taken away first.
  void diagnostic(std::string_view text);

  /// One line that is overwritten, only where standard error is a terminal.
  void progress(std::string_view verb, std::size_t done, std::size_t total);
  void progress(std::string_view text);

 private:
  void clear_progress();

  bool terminal_ = false;
  bool progress_shown_ = false;
};

}  // namespace windtunnel
