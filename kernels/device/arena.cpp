#include "kernels/device/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "kernels/device/device.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kLeast = std::int64_t{1} << 30;

}  // namespace

Arena::Arena(std::int64_t bytes) {
  // Reserving is refused where address space is limited (ulimit -v, containers): less will do.
  for (bytes_ = bytes; bytes_ >= kLeast; bytes_ /= 2) {
    void* mapped = mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) continue;
    base_ = static_cast<char*>(mapped);
    // Large pages where the system has them: a step touches more than small ones' translations
    // reach.
    madvise(base_, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
    return;
  }
  throw OutOfDeviceMemory(std::string("the system reserves no address range for device memory: ") +
                          std::strerror(errno));
}

Arena::~Arena() {
  munmap(base_, static_cast<std::size_t>(bytes_));
}

}  // namespace windtunnel
