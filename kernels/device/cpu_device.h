#pragma once
// The CPU as a device: memory is an arena, a stream is a thread.
//
// Blocks lie in the arena where the caching allocator's model puts them, so allocated and reserved
// bytes are the model's, and memory given back keeps its content until the block is served again.

#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/device/arena.h"
#include "kernels/device/device.h"
#include "kernels/device/event_marks.h"
#include "kernels/device/stream_worker.h"

namespace windtunnel {

struct CpuDeviceSettings {
  int streams = 1;
  int events = 0;
  std::int64_t capacity_bytes = std::int64_t{1} << 38;  // 256 GiB of addresses, not of memory
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceSettings& settings);
  ~CpuDevice() override;

  void* allocate(std::int64_t bytes, int stream) override;
  void deallocate(void* block) override;
  const AllocatorStats& memory() const override { return allocator_.stats(); }

  void enqueue(int stream, std::function<void()> task) override;
  void record(int event, int stream) override;
  void wait(int event, int stream) override;
  void synchronize(int event) override;
  void synchronize() override;

 private:
  Arena arena_;
  CachingAllocator allocator_;
  std::unordered_map<void*, CachingAllocator::Block> blocks_;
  EventMarks marks_;  // the last one is the device's own: synchronize()
  int own_event_;
  std::vector<std::unique_ptr<StreamWorker>> workers_;  // null until first used
};

}  // namespace windtunnel
