#include "kernels/device/stream_worker.h"

#include <utility>

namespace windtunnel {

StreamWorker::StreamWorker() : thread_([this] { run(); }) {}

StreamWorker::~StreamWorker() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  given_.notify_one();
  thread_.join();
}

void StreamWorker::give(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  given_.notify_one();
}

void StreamWorker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    given_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace windtunnel
