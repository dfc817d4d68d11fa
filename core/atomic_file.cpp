#include "core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/check.h"
#include "core/diagnostics.h"

namespace windtunnel {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;  // one system call per MiB
constexpr int kNameTries = 100;                // leftovers of killed processes with our id

constexpr int kMostLinks = 40;  // in a row: what Linux follows

/// Where the bytes will stand: the file a symbolic link leads to, also one that is not there yet,
/// else the path itself.
std::filesystem::path follow_links(const std::filesystem::path& path) {
  std::filesystem::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code ignored;
    std::filesystem::path resolved = std::filesystem::weakly_canonical(at, ignored);
    if (ignored || resolved.empty()) return path;
    const std::filesystem::path next = std::filesystem::read_symlink(resolved, ignored);
    if (ignored) return resolved;  // no link
    at = resolved.parent_path() / next;
  }
  return path;
}

std::filesystem::path folder_of(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

/// A file system that has no sync for this kind of file says EINVAL: nothing to wait for then.
bool sync(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
}

std::string hint_for(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return "the folder must exist: create it first";
    case EISDIR:
      return "name a file inside that folder";
    case ENOSPC:
    case EDQUOT:
      return "free some space or name a file on another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a file in a folder you can write to";
    default:
      return "";
  }
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target)
    : path_(std::move(target)), target_(follow_links(path_)) {
  struct stat existing {};
  const bool exists = ::stat(path_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail("write", EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {
    open_in_place();
    return;
  }
  // A rename asks only the folder for permission; a read-only file is still one to keep.
  if (exists && ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail("write", errno);
  open_temporary();
  if (exists && ::fchmod(descriptor_, existing.st_mode & 07777) != 0) fail("write", errno);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::open_in_place() {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("open", errno);
}

void AtomicFile::open_temporary() {
  // Without a name it is gone with the process, however that ends; giving it one takes /proc.
  if (::access("/proc/self/fd", X_OK) == 0) {
    descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    nameless_ = descriptor_ >= 0;
  }
  if (!nameless_) {  // a file system that has no such files
    take_name([this](const char* name) {
      descriptor_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return descriptor_ >= 0;
    });
  }
}

void AtomicFile::name_temporary() {
  const std::string open_file = "/proc/self/fd/" + std::to_string(descriptor_);
  take_name([&](const char* name) {
    return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  });
  nameless_ = false;
}

void AtomicFile::take_name(const std::function<bool(const char*)>& take) {
  const std::string stem = ".windtunnel-" + std::to_string(::getpid()) + "-";
  for (int i = 0; i < kNameTries; ++i) {
    temporary_ = folder_of(target_) / (stem + std::to_string(i) + ".tmp");
    if (take(temporary_.c_str())) return;
    if (errno != EEXIST) break;
  }
  const int error_number = errno;
  temporary_.clear();  // not ours to remove
  fail("write", error_number);
}

void AtomicFile::write(std::string_view bytes) {
  CHECK(descriptor_ >= 0, "a file is written before it is committed");
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  CHECK(descriptor_ >= 0, "a file is committed once");
  flush();
  const bool in_place = temporary_.empty() && !nameless_;
  if (!in_place && !sync(descriptor_)) fail("write", errno);
  if (nameless_) name_temporary();
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("write", errno);
  if (in_place) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("replace", errno);
  temporary_.clear();
  // The rename itself survives a power cut only once its folder is on disk. A folder that cannot be
  // opened for reading cannot be synced; the file is complete either way.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const bool synced = sync(folder);
  const int error_number = errno;
  ::close(folder);
  if (!synced) fail("sync the folder of", error_number);
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  descriptor_ = -1;
  temporary_.clear();
}

void AtomicFile::fail(std::string_view action, int error_number) {
  discard();
  throw InputError({{.position = {.file = path_.string()},
                     .message = "cannot " + std::string(action) +
                                " it: " + std::generic_category().message(error_number),
                     .hint = hint_for(error_number),
                     .source_line = ""}});
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace windtunnel
