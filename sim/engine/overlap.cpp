#include "sim/engine/overlap.h"

#include <algorithm>

#include "core/check.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

/// Above it the fixed-point product could leave 64 bits for times of a day.
constexpr double kMaxTheft = 8.0;

}  // namespace

Overlap::Overlap(const Theft& theft, int lanes)
    : lanes_(lanes), now_(static_cast<std::size_t>(lanes)), work_(static_cast<std::size_t>(lanes)) {
  const auto checked = [this](double value) {
    CHECK(value >= 0 && value <= kMaxTheft, "theft is a fraction of 0 to 8");
    enabled_ = enabled_ || value > 0;
    return value;
  };
  for (std::size_t cls = 0; cls < compute_.size(); ++cls) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const double value = checked(theft.compute[cls][kind]);
      slows_compute_[kind] = slows_compute_[kind] || value > 0;
      compute_[cls][kind] = {.theft = to_q16(value), .stolen = to_q16(value / (1 + value))};
    }
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    transfer_[kind] = to_q16(checked(theft.transfer[kind]));
  }
}

const Picoseconds* Overlap::end_of(const Work& work) {
  lane_math::copy(now_.data(), work.start, lanes_);
  lane_math::copy(work_.data(), work.durations, lanes_);
  for (const CompletionRef& transfer : active_) {
    const Pair& slowing = pair(work.cls, transfer->terms.transfer);
    lane_math::work_through(now_.data(), work_.data(),
                            {.begin = transfer->start,
                             .end = transfer->end,
                             .theft = slowing.theft,
                             .stolen = slowing.stolen},
                            lanes_);
  }
  lane_math::add_each(now_.data(), work_.data(), lanes_);
  return now_.data();
}

void Overlap::drop_until(const Picoseconds* tail) {
  std::erase_if(active_, [&](const CompletionRef& transfer) {
    return lane_math::all_at_most(transfer->end, tail, lanes_);
  });
}

const Picoseconds* Overlap::lost_to(const Completion& transfer, const Queued& queued) {
  const FactorQ16 stolen = pair(queued.cls, transfer.terms.transfer).stolen;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Picoseconds begin = std::max(transfer.start[i], queued.busy_since[i]);
    const Picoseconds overlap = std::min(transfer.end[i], queued.tail[i]) - begin;
    work_[i] = overlap > 0 ? scale_q16(overlap, stolen) : 0;
  }
  return work_.data();
}

}  // namespace windtunnel
