#pragma once
// The seam between a program and the thing that executes it: one device as its rank sees it.
//
// A device has memory, streams and events. The host hands tasks to streams and goes on; a stream
// runs its tasks one after another in the order they came. Tasks of different streams are ordered
// only by events: `record` marks a place in a stream, `wait` makes a stream (`synchronize` the
// host) wait until the mark recorded last, in the order the host issued, has been reached. A wait
// for an event that was never recorded does not wait. These are CUDA's rules.
//
// Memory is handed out and taken back in host order, too, by the rules of the caching allocator: a
// block given back may serve the next request of the same stream while tasks that use it are still
// queued, because what uses it next is queued behind them.
//
// All calls come from one thread, the rank's host.

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "models/allocator/caching_allocator.h"

namespace windtunnel {

/// The device has no room: a result of the plan, not a bug.
struct OutOfDeviceMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Device {
 public:
  virtual ~Device() = default;

  /// A block of `bytes` > 0, aligned to 512 bytes, for the pool of `stream`. Throws
  /// OutOfDeviceMemory.
  virtual void* allocate(std::int64_t bytes, int stream) = 0;
  virtual void deallocate(void* block) = 0;
  virtual const AllocatorStats& memory() const = 0;

  /// `task` must not throw: what goes wrong in it, it has to keep for its owner.
  virtual void enqueue(int stream, std::function<void()> task) = 0;
  virtual void record(int event, int stream) = 0;
  virtual void wait(int event, int stream) = 0;
  virtual void synchronize(int event) = 0;
  /// The host waits for every task of every stream.
  virtual void synchronize() = 0;
};

}  // namespace windtunnel
