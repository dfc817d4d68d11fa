#pragma once
// One stream of the CPU device: a thread that runs tasks in the order they were given.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace windtunnel {

class StreamWorker {
 public:
  StreamWorker();
  /// Waits for what was given.
  ~StreamWorker();
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  void give(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace windtunnel
