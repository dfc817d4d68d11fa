#include "calibrate/measure/storage_timing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // mkstemp
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "calibrate/measure/stopwatch.h"
#include "core/diagnostics.h"

namespace windtunnel {

namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;  // of one call

[[noreturn]] void fail(const std::filesystem::path& folder, const char* action) {
  const int error = errno;
  throw InputError({{.position = {.file = folder.string()},
                     .message = fmt::format("cannot {} a file there to measure storage: {}", action,
                                            std::strerror(error))}});
}

/// A file without a name.
class ScratchFile {
 public:
  explicit ScratchFile(const std::filesystem::path& folder) : folder_(folder) {
    std::string name = (folder / "windtunnel-storage.XXXXXX").string();
    descriptor_ = ::mkstemp(name.data());
    if (descriptor_ < 0) fail(folder, "make");
    ::unlink(name.c_str());
  }
  ~ScratchFile() { ::close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  double write(std::vector<char>& piece, std::int64_t bytes) {
    const double begin = clock_seconds();
    std::int64_t at = 0;
    while (at < bytes) {
      const auto wanted = static_cast<std::size_t>(
          std::min<std::int64_t>(static_cast<std::int64_t>(piece.size()), bytes - at));
      const ssize_t done = ::pwrite(descriptor_, piece.data(), wanted, at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(folder_, "write");
      at += done;
    }
    if (::fsync(descriptor_) != 0) fail(folder_, "write");
    return clock_seconds() - begin;
  }

  double read(std::vector<char>& piece, std::int64_t bytes) {
    ::posix_fadvise(descriptor_, 0, bytes, POSIX_FADV_DONTNEED);  // a file system may not heed it
    const double begin = clock_seconds();
    std::int64_t at = 0;
    while (at < bytes) {
      const ssize_t done = ::pread(descriptor_, piece.data(), piece.size(), at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(folder_, "read");
      at += done;
    }
    return clock_seconds() - begin;
  }

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
};

}  // namespace

StorageTiming measure_storage(const std::filesystem::path& folder, const StorageOptions& options) {
  ScratchFile file(folder);
  std::vector<char> piece(kPiece, 'w');
  std::vector<double> write, read;
  for (int i = 0; i < options.repeats; ++i) {
    write.push_back(file.write(piece, options.bytes));
    read.push_back(file.read(piece, options.bytes));
  }
  return {.write = summarise(write), .read = summarise(read), .bytes = options.bytes};
}

}  // namespace windtunnel
