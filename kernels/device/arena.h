#pragma once
// A range of addresses that costs memory only where it is touched: the CPU device's memory, into
// which the allocator's model places blocks.

#include <cstdint>

namespace windtunnel {

class Arena {
 public:
  /// Reserves the largest range up to `bytes` that the system grants, at least 1 GiB. Throws
  /// OutOfDeviceMemory.
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::int64_t bytes() const { return bytes_; }
  char* at(std::int64_t offset) const { return base_ + offset; }

 private:
  char* base_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace windtunnel
