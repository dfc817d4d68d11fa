#include "kernels/device/cpu_device.h"

#include <string>
#include <utility>

#include "core/check.h"

namespace windtunnel {

CpuDevice::CpuDevice(const CpuDeviceSettings& settings)
    : arena_(settings.capacity_bytes),
      allocator_({.capacity_bytes = arena_.bytes()}),
      marks_(settings.events + 1),
      own_event_(settings.events),
      workers_(static_cast<std::size_t>(settings.streams)) {}

CpuDevice::~CpuDevice() = default;

void* CpuDevice::allocate(std::int64_t bytes, int stream) {
  const CachingAllocator::Block block = allocator_.alloc(bytes, stream);
  // Segments get rising addresses and are never placed again: the arena ends where they do.
  if (block == CachingAllocator::kOutOfMemory ||
      allocator_.address(block) + allocator_.size(block) > arena_.bytes()) {
    throw OutOfDeviceMemory("no room for " + std::to_string(bytes) + " bytes beside " +
                            std::to_string(allocator_.stats().allocated) + " allocated ones");
  }
  void* at = arena_.at(allocator_.address(block));
  blocks_.emplace(at, block);
  return at;
}

void CpuDevice::deallocate(void* block) {
  const auto found = blocks_.find(block);
  CHECK(found != blocks_.end(), "a block given back was allocated");
  allocator_.free(found->second);
  blocks_.erase(found);
}

void CpuDevice::enqueue(int stream, std::function<void()> task) {
  std::unique_ptr<StreamWorker>& worker = workers_.at(static_cast<std::size_t>(stream));
  if (!worker) worker = std::make_unique<StreamWorker>();
  worker->give(std::move(task));
}

void CpuDevice::record(int event, int stream) {
  const std::int64_t number = marks_.issue(event);
  enqueue(stream, [this, event, number] { marks_.reach(event, number); });
}

void CpuDevice::wait(int event, int stream) {
  const std::int64_t number = marks_.latest(event);
  if (number == 0) return;
  enqueue(stream, [this, event, number] { marks_.await(event, number); });
}

void CpuDevice::synchronize(int event) {
  marks_.await(event, marks_.latest(event));
}

void CpuDevice::synchronize() {
  for (std::size_t s = 0; s < workers_.size(); ++s) {
    if (!workers_[s]) continue;
    record(own_event_, static_cast<int>(s));
    synchronize(own_event_);
  }
}

}  // namespace windtunnel
