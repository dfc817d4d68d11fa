#pragma once
// The clock of all measurements: steady, and on Linux one for all processes of a machine.

#include <chrono>

namespace windtunnel {

/// Seconds since a moment that all processes of this machine share (CLOCK_MONOTONIC).
inline double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace windtunnel
