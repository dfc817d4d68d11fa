#include "runtime/launch/private_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace windtunnel {

namespace {

std::string make_folder() {
  std::vector<std::string> places{"/dev/shm"};
  if (const char* chosen = std::getenv("TMPDIR")) places.emplace_back(chosen);
  places.emplace_back("/tmp");
  for (const std::string& place : places) {
    std::string path = place + "/windtunnel.XXXXXX";
    if (mkdtemp(path.data()) != nullptr) return path;
  }
  throw std::system_error(errno, std::generic_category(), "no folder for temporary files");
}

void remove_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

/// Reads the groups to end until the writer is gone; a last 0 says that it ended by itself.
[[noreturn]] void guard(int from, const std::string& path) {
  setsid();  // not ended by what ends the terminal's group
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  pid_t group = 0, told = 0;
  while (read(from, &told, sizeof told) == static_cast<ssize_t>(sizeof told)) {
    if (told == 0) _exit(0);
    group = told;
  }
  if (group > 0) kill(-group, SIGKILL);
  // What is being killed may still make files.
  for (int tries = 0; tries < 20; ++tries) {
    remove_folder(path);
    usleep(50'000);
  }
  _exit(0);
}

}  // namespace

PrivateFolder::PrivateFolder() : path_(make_folder()) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  guardian_ = fork();
  if (guardian_ == 0) {
    close(ends[1]);
    guard(ends[0], path_);
  }
  close(ends[0]);
  to_guardian_ = ends[1];
}

void PrivateFolder::own_group(pid_t group) {
  if (write(to_guardian_, &group, sizeof group) < 0) return;  // the guardian is gone: no guard
}

PrivateFolder::~PrivateFolder() {
  remove_folder(path_);
  own_group(0);
  close(to_guardian_);
  if (guardian_ > 0) waitpid(guardian_, nullptr, 0);
}

}  // namespace windtunnel
