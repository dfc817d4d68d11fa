#pragma once
// A `windtunnel run` in the background and all its processes, found by a mark in their environment:
// whoever started them, whatever became of their parents.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace windtunnel {

/// Whether `condition` came true; it is asked again and again for as long as a run that is stuck
/// would be waited for.
bool comes_true(const std::function<bool()>& condition);

class StartedRun {
 public:
  /// `windtunnel ARGUMENTS` with temporary files in `folder`, where its output goes too.
  StartedRun(const std::filesystem::path& folder, const std::vector<std::string>& arguments);
  /// Ends what is left of it.
  ~StartedRun();
  StartedRun(const StartedRun&) = delete;
  StartedRun& operator=(const StartedRun&) = delete;

  pid_t program() const { return program_; }
  /// Processes that run this program, by process id.
  std::vector<pid_t> processes(const std::string& name) const;
  std::vector<pid_t> processes() const { return processes(""); }
  /// The private folder, from a rank's command line; empty before there is one.
  std::string private_folder() const;
  /// All `ranks` ranks are in a step.
  bool all_run(int ranks) const;
  /// The process of rank `r` of `ranks` that run.
  pid_t rank(int r, int ranks) const;

  /// The program's end: its exit status, or minus the signal that ended it.
  int wait();
  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path folder_;
  std::string mark_;
  pid_t program_ = -1;
  bool ended_ = false;
};

}  // namespace windtunnel
