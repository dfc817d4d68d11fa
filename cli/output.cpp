#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

#include "core/diagnostics.h"

namespace windtunnel {

namespace {

/// 0, or the error of the system.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// A standard stream that the caller closed is held open, so that no file of ours takes its number
/// and gets what is printed. Opened for reading: a write still fails.
void keep_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", O_RDONLY) < 0) return;  // the lowest free number is this one
  }
}

}  // namespace

Output::Output() {
  keep_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write
  terminal_ = ::isatty(STDERR_FILENO) == 1;
}

void Output::result(std::string_view text) {
  clear_progress();
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return;
  throw InputError(
      {{.position = {.file = "standard output"},
        .message = "cannot write the result: " + std::generic_category().message(error),
        .hint = error == EPIPE ? "its reader ended before all was written" : ""}});
}

void Output::diagnostic(std::string_view text) {
  clear_progress();
  write_all(STDERR_FILENO, text);
}

void Output::progress(std::string_view verb, std::size_t done, std::size_t total) {
  if (total < 2) return;
  progress(fmt::format("{}: {} of {}", verb, done, total));
  if (done == total) clear_progress();
}

void Output::progress(std::string_view text) {
  if (!terminal_) return;
  progress_shown_ = true;
  write_all(STDERR_FILENO, fmt::format("\r\033[K{}", text));
}

void Output::clear_progress() {
  if (progress_shown_) write_all(STDERR_FILENO, "\r\033[K");
  progress_shown_ = false;
}

}  // namespace windtunnel
