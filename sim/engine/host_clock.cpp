#include "sim/engine/host_clock.h"

#include "core/check.h"

namespace windtunnel {

HostClock::HostClock(const StepCosts& costs, const LaneGrid& grid)
    : lanes_(grid.lanes()),
      now_(static_cast<std::size_t>(lanes_), 0),
      run_ahead_(costs.run_ahead),
      spacing_(launches_per_note(costs.run_ahead)) {
  for (int lane = 0; lane < lanes_; ++lane) {
    launch_.push_back(costs.launch[static_cast<std::size_t>(grid.draw_of(lane))]);
  }
  if (run_ahead_ > 0) {
    // Those of a window, the one just behind it and the one being taken.
    const auto ring = static_cast<std::size_t>((run_ahead_ + spacing_ - 1) / spacing_) + 2;
    note_launched_.resize(ring);
    note_tail_.resize(ring * static_cast<std::size_t>(lanes_));
    next_note_ = spacing_;
  }
}

void HostClock::wait_for_room(int launches) {
  const std::int64_t limit = launched_ + launches - run_ahead_;
  const std::size_t ring = note_launched_.size();
  std::size_t latest = ring;
  for (; notes_ > 0 && note_launched_[first_note_] <= limit; --notes_) {
    latest = first_note_;
    first_note_ = (first_note_ + 1) % ring;
  }
  if (latest < ring) wait_until(note_tail_.data() + latest * static_cast<std::size_t>(lanes_));
  if (notes_ == 0) {
    room_until_ = std::numeric_limits<std::int64_t>::max();
  } else {
    room_until_ = note_launched_[first_note_] + run_ahead_;
  }
}

void HostClock::take_note(const Picoseconds* tail) {
  const std::size_t ring = note_launched_.size();
  CHECK(notes_ < ring, "notes are taken a spacing apart and used up a window later");
  const std::size_t place = (first_note_ + notes_) % ring;
  note_launched_[place] = launched_;
  std::copy_n(tail, lanes_, note_tail_.data() + place * static_cast<std::size_t>(lanes_));
  if (notes_++ == 0) room_until_ = launched_ + run_ahead_;
  next_note_ = launched_ + spacing_;
}

}  // namespace windtunnel
