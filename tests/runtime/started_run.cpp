#include "tests/runtime/started_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "runtime/launch/outcome_files.h"
#include "runtime/launch/status_board.h"
#include "tests/cli/program.h"

namespace windtunnel {

namespace fs = std::filesystem;

namespace {

constexpr auto kStuck = std::chrono::seconds(60);  // far beyond what any condition takes
constexpr auto kPollEvery = std::chrono::milliseconds(10);

/// The entries of a file of /proc that are ended by zero bytes.
std::vector<std::string> entries_of(pid_t pid, const char* file) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file, std::ios::binary);
  std::vector<std::string> entries;
  for (std::string entry; std::getline(in, entry, '\0');) entries.push_back(entry);
  return entries;
}

[[noreturn]] void become(const fs::path& folder, const std::string& mark,
                         const std::vector<std::string>& arguments) {
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int err = open((folder / "err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  putenv(const_cast<char*>(mark.c_str()));
  setenv("TMPDIR", (folder / "tmp").c_str(), 1);
  std::vector<char*> words{const_cast<char*>(WINDTUNNEL_PROGRAM)};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

}  // namespace

bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kStuck;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPollEvery);
  }
  return true;
}

StartedRun::StartedRun(const fs::path& folder, const std::vector<std::string>& arguments)
    : folder_(folder), mark_("WINDTUNNEL_STARTED_BY=" + folder.string()) {
  fs::create_directories(folder_ / "tmp");
  program_ = fork();
  if (program_ == 0) become(folder_, mark_, arguments);
}

StartedRun::~StartedRun() {
  if (!ended_) {
    kill(program_, SIGKILL);
    waitpid(program_, nullptr, 0);
  }
  // Its guardian cleans up, if it does what it should.
  comes_true([this] { return processes().empty(); });
  for (const pid_t pid : processes()) kill(pid, SIGKILL);
}

std::vector<pid_t> StartedRun::processes(const std::string& name) const {
  std::vector<pid_t> found;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::vector<std::string> environment = entries_of(pid, "environ");
    if (std::find(environment.begin(), environment.end(), mark_) == environment.end()) continue;
    std::error_code gone;
    const fs::path program = fs::read_symlink(entry.path() / "exe", gone);
    // mpirun is a link to another name.
    const std::vector<std::string> words = entries_of(pid, "cmdline");
    const bool named = program.filename() == name ||
                       (!words.empty() && fs::path(words.front()).filename() == name);
    if (name.empty() || named) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string StartedRun::private_folder() const {
  for (const pid_t pid : processes("windtunnel-rank")) {
    const std::vector<std::string> words = entries_of(pid, "cmdline");
    const auto at = std::find(words.begin(), words.end(), "--folder");
    if (at != words.end() && at + 1 != words.end()) return *(at + 1);
  }
  return "";
}

bool StartedRun::all_run(int ranks) const {
  const std::string folder = private_folder();
  if (folder.empty() || static_cast<int>(processes("windtunnel-rank").size()) != ranks) {
    return false;
  }
  const StatusBoard board = StatusBoard::open(status_path(folder), ranks);
  for (int r = 0; r < ranks; ++r) {
    if (board.rank(r).state != RankState::running || board.rank(r).progress.finished == 0) {
      return false;
    }
  }
  return true;
}

pid_t StartedRun::rank(int r, int ranks) const {
  return StatusBoard::open(status_path(private_folder()), ranks).rank(r).pid;
}

int StartedRun::wait() {
  int status = 0;
  ended_ = comes_true([&] { return waitpid(program_, &status, WNOHANG) == program_; });
  if (!ended_) throw std::runtime_error("the run does not end");
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::string StartedRun::out() const {
  return read_file(folder_ / "out");
}

std::string StartedRun::err() const {
  return read_file(folder_ / "err");
}

}  // namespace windtunnel
