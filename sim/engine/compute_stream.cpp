#include "sim/engine/compute_stream.h"

#include <algorithm>

#include "sim/engine/instruction.h"

namespace windtunnel {

ComputeStream::ComputeStream(CompletionPool& pool, Overlap& overlap, std::size_t categories,
                             int role)
    : pool_(pool),
      overlap_(overlap),
      lanes_(pool.lanes()),
      role_(role),
      tail_(static_cast<std::size_t>(lanes_), 0),
      table_(categories, lanes_),
      busy_since_(tail_),
      scratch_(tail_) {}

Completion* ComputeStream::settle_pending() {
  std::size_t taken = 0;
  Completion* blocker = nullptr;
  for (; taken < pending_.size(); ++taken) {
    blocker = pool_.resolve(*pending_[taken]);
    if (blocker != nullptr) break;
    absorb(*pending_[taken]);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(taken));
  return blocker;
}

void ComputeStream::absorb(Completion& completion) {
  constexpr TransferKind kPointToPoint = TransferKind::point_to_point;
  if (completion.terms.transfer == kPointToPoint && overlap_.slows_compute(kPointToPoint)) {
    const std::uint8_t side = completion.terms.source == role_ ? 1 : 2;
    if ((completion.terms.slowed & side) == 0) {
      completion.terms.slowed = static_cast<std::uint8_t>(completion.terms.slowed | side);
      lose_to(completion);
    }
  }
  const Picoseconds* arrival = completion.terms.has_arrival ? completion.arrival : completion.start;
  const WaitCharges& charges = completion.terms.charges;
  if (lanes_ == 1) {
    const Picoseconds end = *completion.end;
    Picoseconds now = tail_[0];
    if (end <= now) return;
    const auto until = [&](Picoseconds time, std::uint16_t category) {
      if (time <= now) return;
      table_.charge_all(category, time - now);
      now = time;
    };
    until(*arrival, charges.queue);
    until(*completion.start, charges.skew);
    until(end, charges.running);
    tail_[0] = end;
    busy_since_[0] = end;
    return;
  }
  if (lane_math::all_at_most(completion.end, tail_.data(), lanes_)) return;
  const auto charge = [&](std::uint16_t category, const Picoseconds* from, const Picoseconds* to) {
    lane_math::add_gap(table_.row(category),
                       {.tail = tail_.data(), .end = completion.end, .from = from, .to = to},
                       lanes_);
  };
  charge(charges.queue, nullptr, arrival);
  if (completion.terms.has_arrival) charge(charges.skew, arrival, completion.start);
  charge(charges.running, completion.start, completion.end);
  raise_tail(completion.end);
}

void ComputeStream::run(const Picoseconds* host, Picoseconds duration, Kernel kernel) {
  last_ = kernel;
  if (loading_) idle_until_host(host);
  if (overlap_.active() || (overlap_.enabled() && lanes_ > 1)) {
    std::fill(scratch_.begin(), scratch_.end(), duration);
    run_beside_transfers(host, scratch_.data(), kernel);
    return;
  }
  table_.charge_all(kernel.category, duration);
  if (lanes_ == 1) {
    const Picoseconds gap = *host - tail_[0];
    if (gap > 0) {
      table_.charge_all(kHost, gap);
      tail_[0] = *host;
      busy_since_[0] = *host;
    }
    tail_[0] += duration;
    return;
  }
  lane_math::run_uniform({.host = host, .tail = tail_.data(), .idle = table_.row(kHost)}, duration,
                         lanes_);
}

bool ComputeStream::run_stretch(const Picoseconds* host, lane_math::StretchLanes stretch) {
  if (loading_ || overlap_.active()) return false;
  const lane_math::StreamLanes stream{
      .host = host, .tail = tail_.data(), .idle = table_.row(kHost)};
  if (overlap_.enabled() && lane_math::leaves_gap(stream, stretch, lanes_)) return false;
  if (lanes_ > 1) {
    lane_math::run_stretch(stream, stretch, lanes_);
    return true;
  }
  const Picoseconds busy_end = tail_[0] + *stretch.busy;
  tail_[0] = std::max(busy_end, *host + *stretch.reach);
  *stream.idle += tail_[0] - busy_end;
  return true;
}

void ComputeStream::run_each(const Picoseconds* host, const Picoseconds* durations, Kernel kernel) {
  last_ = kernel;
  if (loading_) idle_until_host(host);
  if (overlap_.enabled()) {
    run_beside_transfers(host, durations, kernel);
    return;
  }
  lane_math::run_each({.host = host, .tail = tail_.data(), .idle = table_.row(kHost)}, durations,
                      lanes_);
  lane_math::add_each(table_.row(kernel.category), durations, lanes_);
}

void ComputeStream::run_beside_transfers(const Picoseconds* host, const Picoseconds* durations,
                                         Kernel kernel) {
  idle_until_host(host);
  const Picoseconds* end =
      overlap_.end_of({.start = tail_.data(), .durations = durations, .cls = kernel.cls});
  lane_math::add_gap(table_.row(kernel.category),
                     {.tail = tail_.data(), .end = end, .from = nullptr, .to = end}, lanes_);
  lane_math::copy(tail_.data(), end, lanes_);
  overlap_.drop_until(tail_.data());
}

void ComputeStream::idle_until_host(const Picoseconds* host) {
  if (loading_) {
    loading_ = false;
    const auto charge = [&](std::uint16_t category, const Picoseconds* from,
                            const Picoseconds* to) {
      lane_math::add_gap(table_.row(category),
                         {.tail = tail_.data(), .end = host, .from = from, .to = to}, lanes_);
    };
    charge(kHost, nullptr, load_begin_.data());
    charge(kInput, load_begin_.data(), load_end_.data());
    charge(kHost, load_end_.data(), host);
    raise_tail(host);
    return;
  }
  idle_until(host, kHost);
}

void ComputeStream::idle_until(const Picoseconds* times, std::uint16_t category) {
  lane_math::add_gap(table_.row(category),
                     {.tail = tail_.data(), .end = times, .from = nullptr, .to = times}, lanes_);
  raise_tail(times);
}

void ComputeStream::raise_tail(const Picoseconds* times) {
  if (overlap_.enabled()) {
    for (std::size_t i = 0; i < tail_.size(); ++i) {
      if (times[i] > tail_[i]) busy_since_[i] = times[i];
    }
  }
  lane_math::raise_to(tail_.data(), times, lanes_);
}

void ComputeStream::communicate(const Picoseconds* durations, std::uint16_t category) {
  lane_math::add_each(tail_.data(), durations, lanes_);
  lane_math::add_each(table_.row(category), durations, lanes_);
}

void ComputeStream::communicate(Picoseconds duration, std::uint16_t category) {
  lane_math::add(tail_.data(), duration, lanes_);
  table_.charge_all(category, duration);
}

void ComputeStream::lose_to(const Completion& transfer) {
  if (lane_math::all_at_most(tail_.data(), transfer.start, lanes_)) return;
  const Picoseconds* lost = overlap_.lost_to(
      transfer, {.busy_since = busy_since_.data(), .tail = tail_.data(), .cls = last_.cls});
  lane_math::add_each(tail_.data(), lost, lanes_);
  lane_math::add_each(table_.row(last_.category), lost, lanes_);
}

void ComputeStream::host_loaded(const Picoseconds* begin, const Picoseconds* end) {
  if (!loading_) load_begin_.assign(begin, begin + lanes_);
  loading_ = true;
  load_end_.assign(end, end + lanes_);
}

}  // namespace windtunnel
