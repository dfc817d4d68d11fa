#include "sim/engine/host_clock.h"

namespace windtunnel {

namespace {

/// Notes of the stream's progress per run-ahead window.
constexpr std::int64_t kNotesPerWindow = 16;

}  // namespace

HostClock::HostClock(const StepCosts& costs, const LaneGrid& grid)
    : lanes_(grid.lanes()),
      now_(static_cast<std::size_t>(lanes_), 0),
      uniform_launch_(costs.draws == 1),
      run_ahead_(costs.run_ahead),
      spacing_(std::max<std::int64_t>(1, costs.run_ahead / kNotesPerWindow)) {
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

void HostClock::hold(int launches) {
  const std::int64_t limit = launched_ + launches - run_ahead_;
  const std::size_t ring = note_launched_.size();
  const auto second = [&] { return (first_note_ + 1) % ring; };
  while (notes_ > 1 && note_launched_[second()] <= limit) {
    first_note_ = second();
    --notes_;
  }
  if (notes_ > 0 && note_launched_[first_note_] <= limit) {
    wait_until(note_tail_.data() + first_note_ * static_cast<std::size_t>(lanes_));
  }
}

void HostClock::advance(int launches) {
  if (uniform_launch_) {
    lane_math::add(now_.data(), launches * launch_[0], lanes_);
    return;
  }
  for (int i = 0; i < launches; ++i) lane_math::add_each(now_.data(), launch_.data(), lanes_);
}

void HostClock::take_note(const Picoseconds* tail) {
  const std::size_t ring = note_launched_.size();
  if (notes_ == ring) {
    // An op of more launches than the window: the oldest note cannot be asked for any more.
    first_note_ = (first_note_ + 1) % ring;
    --notes_;
  }
  const std::size_t place = (first_note_ + notes_) % ring;
  note_launched_[place] = launched_;
  std::copy_n(tail, lanes_, note_tail_.data() + place * static_cast<std::size_t>(lanes_));
  ++notes_;
  next_note_ = launched_ + spacing_;
}

}  // namespace windtunnel
