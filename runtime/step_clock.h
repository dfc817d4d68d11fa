#pragma once
// The clock of a step: picoseconds since a zero that all ranks share.

#include <chrono>
#include <cstdint>

#include "core/units.h"

namespace windtunnel {

class StepClock {
 public:
  using Clock = std::chrono::steady_clock;

  StepClock() : zero_(Clock::now()) {}
  explicit StepClock(Clock::time_point zero) : zero_(zero) {}

  Picoseconds now() const { return at(Clock::now()); }
  Picoseconds at(Clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - zero_).count() * 1000;
  }

 private:
  Clock::time_point zero_;
};

}  // namespace windtunnel
