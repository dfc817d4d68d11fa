#include "core/precise_sleep.h"

#include <sys/prctl.h>

#include <thread>

namespace windtunnel {

namespace {

constexpr unsigned long kTimerSlack = 1;  // ns

}  // namespace

void precise_sleep_until(std::chrono::steady_clock::time_point until) {
  thread_local const bool set = prctl(PR_SET_TIMERSLACK, kTimerSlack, 0, 0, 0) == 0;
  static_cast<void>(set);
  std::this_thread::sleep_until(until);
}

}  // namespace windtunnel
