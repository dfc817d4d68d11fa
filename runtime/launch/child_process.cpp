#include "runtime/launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace windtunnel {

namespace {

constexpr int kEndTries = 60;  // of 50 ms: time for mpirun to end its ranks

/// In the child: never returns.
[[noreturn]] void become(const ChildCommand& command, int failure) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int output = open(command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const std::string& entry : command.environment) putenv(const_cast<char*>(entry.c_str()));
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int why = errno;
  const ssize_t told = write(failure, &why, sizeof why);
  _exit(told > 0 ? 127 : 126);
}

}  // namespace

ChildProcess::ChildProcess(const ChildCommand& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  pid_ = fork();
  if (pid_ == 0) become(command, ends[1]);
  close(ends[1]);
  int why = 0;
  const bool failed =
      pid_ < 0 || read(ends[0], &why, sizeof why) == static_cast<ssize_t>(sizeof why);
  close(ends[0]);
  if (failed) throw std::system_error(why, std::generic_category(), command.words.front());
}

ChildProcess::~ChildProcess() {
  end();
}

std::optional<ChildEnd> ChildProcess::poll() {
  if (ended_) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ended_ = WIFSIGNALED(status)
               ? ChildEnd{.status = 128 + WTERMSIG(status), .signal = WTERMSIG(status)}
               : ChildEnd{.status = WEXITSTATUS(status)};
  return ended_;
}

void ChildProcess::end() {
  if (poll()) {
    kill(-pid_, SIGKILL);  // what it started and left
    return;
  }
  kill(-pid_, SIGTERM);
  for (int tries = 0; tries < kEndTries && !poll(); ++tries) usleep(50'000);
  kill(-pid_, SIGKILL);
  while (!poll()) usleep(10'000);
}

}  // namespace windtunnel
