#pragma once
// A folder of one run's own, removed with everything in it when the run ends, however it ends.
//
// A guardian process waits for the end of the process that made the folder: when that is killed,
// the guardian ends the process group it was told of and removes the folder.

#include <sys/types.h>

#include <string>

namespace windtunnel {

class PrivateFolder {
 public:
  /// In memory where the system has a file system for it (/dev/shm), else in the temporary folder.
  /// Throws std::system_error.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }
  /// The process group to end with the folder.
  void own_group(pid_t group);

 private:
  std::string path_;
  int to_guardian_ = -1;
  pid_t guardian_ = -1;
};

}  // namespace windtunnel
