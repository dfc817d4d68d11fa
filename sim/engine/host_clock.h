#pragma once
// The host's issue timeline of one role: when each op is handed to the device.
//
// Every launch costs host time. The host may be `run_ahead` launches ahead of the compute stream:
// before an op it waits until everything launched `run_ahead` launches before the op's last launch
// has ended there. The stream's progress is noted every run_ahead / 16 launches (at least one), so
// the host waits for the latest note that is far enough back; the same notes on every lane.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/engine/lane_grid.h"
#include "sim/engine/lane_math.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

class HostClock {
 public:
  HostClock(const StepCosts& costs, const LaneGrid& grid);

  const Picoseconds* now() const { return now_.data(); }
  Picoseconds* now() { return now_.data(); }

  /// Pays for an op's launches; `now()` is then the time it is issued.
  void issue(int launches) {
    if (launches == 0) return;
    if (run_ahead_ > 0) hold(launches);
    launched_ += launches;
    if (lanes_ == 1) {
      now_[0] += launches * launch_[0];
    } else {
      advance(launches);
    }
  }
  /// Host work of `durations` per lane.
  void work(const Picoseconds* durations) { lane_math::add_each(now_.data(), durations, lanes_); }
  void wait_until(const Picoseconds* times) { lane_math::raise_to(now_.data(), times, lanes_); }

  /// Notes that the compute stream's tail stands at `tail` after what was launched so far.
  void note_progress(const Picoseconds* tail) {
    if (run_ahead_ > 0 && launched_ >= next_note_) take_note(tail);
  }

 private:
  void hold(int launches);
  void advance(int launches);
  void take_note(const Picoseconds* tail);

  int lanes_;
  std::vector<Picoseconds> now_;
  std::vector<Picoseconds> launch_;  // [lane]
  bool uniform_launch_;
  std::int64_t run_ahead_;
  std::int64_t spacing_;
  std::int64_t launched_ = 0;
  std::int64_t next_note_ = 0;
  // Notes in a ring: launches made, and the tail on each lane.
  std::vector<std::int64_t> note_launched_;
  std::vector<Picoseconds> note_tail_;  // [note * lanes + lane]
  std::size_t first_note_ = 0, notes_ = 0;
};

}  // namespace windtunnel
