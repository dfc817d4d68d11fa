#pragma once
// The host's issue timeline of one role: when each op is handed to the device.
//
// Every launch costs host time. The host may be `run_ahead` launches ahead of the compute stream:
// before a stretch of ops it waits until what was launched `run_ahead` launches before the
// stretch's last one has ended there. The stream's progress is noted after stretches, every
// run_ahead / 16 launches (at least one), and the host waits for the latest note that is far enough
// back.

#include <algorithm>
#include <cstdint>
#include <limits>
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

  /// Waits until the queue has room for that many more launches.
  void make_room(int launches) {
    if (run_ahead_ > 0 && launched_ + launches >= room_until_) wait_for_room(launches);
  }
  /// Pays for launches; `now()` is then the time the last of them is issued.
  void launch(int launches) {
    launched_ += launches;
    if (lanes_ == 1) {
      now_[0] += launches * launch_[0];
    } else if (launches > 0) {
      lane_math::add_multiple(now_.data(), launch_.data(), launches, lanes_);
    }
  }
  void issue(int launches) {
    if (launches == 0) return;
    make_room(launches);
    launch(launches);
  }
  /// Host work of `durations` per lane.
  void work(const Picoseconds* durations) { lane_math::add_each(now_.data(), durations, lanes_); }
  void wait_until(const Picoseconds* times) { lane_math::raise_to(now_.data(), times, lanes_); }

  /// Notes that the compute stream's tail stands at `tail` after what was launched so far.
  void note_progress(const Picoseconds* tail) {
    if (run_ahead_ > 0 && launched_ >= next_note_) take_note(tail);
  }

 private:
  void wait_for_room(int launches);
  void take_note(const Picoseconds* tail);

  int lanes_;
  std::vector<Picoseconds> now_;
  std::vector<Picoseconds> launch_;  // [lane]
  std::int64_t run_ahead_;
  std::int64_t spacing_;
  std::int64_t launched_ = 0;
  std::int64_t next_note_ = 0;
  std::int64_t room_until_ = std::numeric_limits<std::int64_t>::max();  // launches made
  // Notes in a ring: launches made, and the tail on each lane.
  std::vector<std::int64_t> note_launched_;
  std::vector<Picoseconds> note_tail_;  // [note * lanes + lane]
  std::size_t first_note_ = 0, notes_ = 0;
};

}  // namespace windtunnel
