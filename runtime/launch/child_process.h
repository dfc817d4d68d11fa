#pragma once
// A program started as a process group of its own.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace windtunnel {

struct ChildCommand {
  std::vector<std::string> words;        // program and arguments
  std::vector<std::string> environment;  // "NAME=value", added to this process's
  std::string output;                    // file that takes standard output and error
};

/// How a process ended: its exit status, or 128 + the signal.
struct ChildEnd {
  int status = 0;
  int signal = 0;  // 0: none
};

class ChildProcess {
 public:
  /// Throws std::system_error when the program cannot be started.
  explicit ChildProcess(const ChildCommand& command);
  /// Ends the group.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t group() const { return pid_; }
  /// Set once it has ended.
  std::optional<ChildEnd> poll();
  /// SIGTERM to the group, SIGKILL when it has not ended a few seconds later.
  void end();

 private:
  pid_t pid_ = -1;
  std::optional<ChildEnd> ended_;
};

}  // namespace windtunnel
