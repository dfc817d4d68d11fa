#include "kernels/device/event_marks.h"

#include <algorithm>

namespace windtunnel {

void EventMarks::reach(int event, std::int64_t record) {
  {
    const std::lock_guard lock(mutex_);
    std::int64_t& reached = reached_[static_cast<std::size_t>(event)];
    reached = std::max(reached, record);
  }
  changed_.notify_all();
}

void EventMarks::await(int event, std::int64_t record) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_[static_cast<std::size_t>(event)] >= record; });
}

}  // namespace windtunnel
