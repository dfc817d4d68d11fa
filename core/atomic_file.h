#pragma once
// Files written whole or not at all.
//
// An `AtomicFile` collects bytes in a temporary file in the folder of its target, without a name
// where the file system can; `commit()` syncs it, renames it over the target and syncs the folder.
// Until then, and after any error, the target is as it was and the temporary file is gone, a
// nameless one also when the process is killed. A symbolic link is followed, an existing file keeps
// its permissions. What is no regular file (a pipe, /dev/stdout) cannot be renamed over: bytes go
// straight to it.
//
// Errors (no such folder, no permission, disk full, a folder in the way) are an `InputError` that
// names the path and what the system said.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace windtunnel {

class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Buffered; precondition: not committed.
  void write(std::string_view bytes);

  /// Makes everything written so far the content of the target. Once.
  void commit();

 private:
  void open_in_place();
  void open_temporary();
  void name_temporary();
  /// Tries free names for the temporary file until `take` has one; errno says why it has not.
  void take_name(const std::function<bool(const char*)>& take);
  void flush();
  void discard() noexcept;
  [[noreturn]] void fail(std::string_view action, int error_number);

  std::filesystem::path path_;       // as the user wrote it, for messages
  std::filesystem::path target_;     // with links resolved
  std::filesystem::path temporary_;  // empty: it has no name, or bytes go straight to the target
  std::string buffer_;
  int descriptor_ = -1;
  bool nameless_ = false;  // the temporary file
};

/// One call for content that is at hand.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace windtunnel
