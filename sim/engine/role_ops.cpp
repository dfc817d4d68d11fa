// What each kind of op does to the clocks of a role.
#include <algorithm>

#include "core/check.h"
#include "sim/engine/lane_math.h"
#include "sim/engine/role_sweep.h"

namespace windtunnel {

namespace {

constexpr std::uint32_t stream_bit(Stream stream) {
  return std::uint32_t{1} << static_cast<unsigned>(stream);
}

}  // namespace

Completion* RoleSweep::run_stretch(const Instruction& first) {
  if (Completion* blocker = compute_.settle()) return blocker;
  if (first.stretch_launches > 0) host_.make_room(first.stretch_launches);
  const bool as_one =
      stretch_costs_ != nullptr && !first.keeps_order && !stretch_shares_[first.stretch];
  if (as_one && compute_.run_stretch(host_.now(), stretch_costs_->of(first))) {
    stretch_costs_->count(first);
    if (const Instruction* last = stretch_costs_->last_compute(first)) {
      compute_.set_last({.category = last->category, .cls = last->cls});
    }
    host_.launch(first.stretch_launches);
  } else {
    for (const Instruction* i = &first; i != &first + first.stretch_ops; ++i) {
      if (i->action == Action::compute) {
        run_compute(*i);
      } else {
        run_join(*i);
      }
    }
  }
  host_.note_progress(compute_.tail());
  pc_ += first.stretch_ops - 1;
  executed_ += first.stretch_ops - 1;
  return nullptr;
}

void RoleSweep::run_compute(const Instruction& i) {
  host_.launch(i.launches);
  const ComputeStream::Kernel kernel{.category = i.category, .cls = i.cls};
  if (costs_.uniform()) {
    const Picoseconds duration = costs_.compute(i.op);
    if (step_.recorder != nullptr) trace_start(host_.now());
    compute_.run(host_.now(), duration, kernel);
  } else {
    const Picoseconds* durations = costs_.compute_each(static_cast<std::uint32_t>(call_), i.op);
    if (step_.recorder != nullptr) trace_start(host_.now());
    compute_.run_each(host_.now(), durations, kernel);
  }
  if (step_.recorder != nullptr) trace(i, compute_.tail());
}

void RoleSweep::trace_start(const Picoseconds* host) {
  lane_math::copy(scratch_.data(), compute_.tail(), lanes_);
  lane_math::raise_to(scratch_.data(), host, lanes_);
}

void RoleSweep::trace(const Instruction& i, const Picoseconds* end) {
  step_.recorder->record(static_cast<std::uint32_t>(call_), i, i.stream,
                         {.issue = host_.now(), .start = scratch_.data(), .end = end});
}

Completion* RoleSweep::raise_to_tail(Stream stream) {
  for (const CompletionRef& done : tail_of(stream)) {
    if (Completion* blocker = step_.pool.resolve(*done)) return blocker;
  }
  std::fill(ready_.begin(), ready_.end(), 0);
  for (const CompletionRef& done : tail_of(stream)) {
    lane_math::raise_to(ready_.data(), done->end, lanes_);
  }
  return nullptr;
}

Completion* RoleSweep::run_side_compute(const Instruction& i) {
  if (Completion* blocker = raise_to_tail(i.stream)) return blocker;
  host_.issue(i.launches);
  lane_math::raise_to(ready_.data(), host_.now(), lanes_);
  const Picoseconds* durations = costs_.compute_each(static_cast<std::uint32_t>(call_), i.op);
  put_on_side(i, ready_.data(), durations);
  return nullptr;
}

void RoleSweep::run_load(const Instruction& i) {
  CHECK(raise_to_tail(i.stream) == nullptr, "a loader's stream holds nothing but its own work");
  put_on_side(i, ready_.data(), costs_.price_each(i.op));
}

void RoleSweep::put_on_side(const Instruction& i, const Picoseconds* start,
                            const Picoseconds* durations) {
  CompletionRef done = step_.pool.make_at(start);
  lane_math::add_each(done->end, durations, lanes_);
  done->terms.charges = {.queue = i.category, .skew = i.category, .running = i.category};
  if (step_.recorder != nullptr) {
    lane_math::copy(scratch_.data(), done->start, lanes_);
    trace(i, done->end);
  }
  tail_of(i.stream).assign(1, done);
}

void RoleSweep::run_host_work(const Instruction& i) {
  host_.issue(i.launches);
  lane_math::copy(scratch_.data(), host_.now(), lanes_);
  host_.work(costs_.price_each(i.op));
  if (i.data) compute_.host_loaded(scratch_.data(), host_.now());
  if (step_.recorder != nullptr) {
    step_.recorder->record(
        static_cast<std::uint32_t>(call_), i, kHostTrack,
        {.issue = scratch_.data(), .start = scratch_.data(), .end = host_.now()});
  }
}

Picoseconds* RoleSweep::comm_tail(const Instruction& i) {
  std::vector<Picoseconds>& tail = comm_tails_[i.comm];
  if (tail.empty()) tail.assign(static_cast<std::size_t>(lanes_), 0);
  return tail.data();
}

void RoleSweep::run_join(const Instruction& i) {
  host_.launch(i.launches);
  compute_.idle_until_host(host_.now());
  if (i.keeps_order) compute_.idle_until(comm_tail(i), i.category);
  if (lanes_ > 1) {
    lane_math::copy(ready_.data(), compute_.tail(), lanes_);
    join_lanes(step_.grid, step_.program.comms[i.comm], ready_);
    compute_.idle_until(ready_.data(), kStraggler);
  }
  if (step_.recorder != nullptr) trace_start(compute_.tail());
  const FactorQ16* slow = step_.slow_links.of(index_, i.op);
  if (TransferEntry* entry = next_transfer(i); entry != nullptr || costs_.varies(i.op)) {
    communicate_each(i, entry);
  } else if (step_.costs.draws == 1 && slow == nullptr) {
    compute_.communicate(*costs_.price(i.op), i.category);
  } else {
    compute_.communicate(costs_.price_each(i.op, slow), i.category);
  }
  if (i.keeps_order) lane_math::copy(comm_tail(i), compute_.tail(), lanes_);
  if (step_.recorder != nullptr) trace(i, compute_.tail());
}

void RoleSweep::finish_transfer(const Instruction& i, TransferEntry* entry,
                                const Picoseconds* start, Picoseconds* end) {
  if (entry != nullptr) note_usual(*entry, lane_count(), start, end);
  costs_.vary_transfer(static_cast<std::uint32_t>(call_), i.op, start, end);
  if (entry != nullptr) share_links(*entry, lane_count(), start, end);
}

void RoleSweep::communicate_each(const Instruction& i, TransferEntry* entry) {
  const Picoseconds* alone = costs_.price_each(i.op, step_.slow_links.of(index_, i.op));
  const Picoseconds* start = compute_.tail();
  lane_math::copy(ready_.data(), start, lanes_);
  lane_math::add_each(ready_.data(), alone, lanes_);
  finish_transfer(i, entry, start, ready_.data());
  for (std::size_t lane = 0; lane < ready_.size(); ++lane) ready_[lane] -= start[lane];
  compute_.communicate(ready_.data(), i.category);
}

Completion* RoleSweep::run_side_join(const Instruction& i) {
  if (Completion* blocker = raise_to_tail(i.stream)) return blocker;
  host_.issue(i.launches);
  lane_math::raise_to(ready_.data(), host_.now(), lanes_);
  if (i.keeps_order) lane_math::raise_to(ready_.data(), comm_tail(i), lanes_);
  CompletionRef done = step_.pool.make();
  lane_math::copy(done->arrival, ready_.data(), lanes_);
  done->terms.has_arrival = true;
  join_lanes(step_.grid, step_.program.comms[i.comm], ready_);
  lane_math::copy(done->start, ready_.data(), lanes_);
  const Picoseconds* durations = costs_.price_each(i.op, step_.slow_links.of(index_, i.op));
  if (overlap_.enabled()) durations = beside_compute(i, durations);
  lane_math::copy(done->end, ready_.data(), lanes_);
  lane_math::add_each(done->end, durations, lanes_);
  finish_transfer(i, next_transfer(i), done->start, done->end);
  done->terms.known = true;
  done->terms.transfer = i.transfer;
  done->terms.charges = {.queue = i.category, .skew = kStraggler, .running = i.category};
  if (overlap_.enabled()) {
    if (overlap_.slows_compute(i.transfer)) {
      compute_.lose_to(*done);
      overlap_.commit(done);
    }
  }
  if (i.keeps_order) lane_math::copy(comm_tail(i), done->end, lanes_);
  if (step_.recorder != nullptr) {
    lane_math::copy(scratch_.data(), done->start, lanes_);
    trace(i, done->end);
  }
  tail_of(i.stream).assign(1, done);
  return nullptr;
}

const Picoseconds* RoleSweep::beside_compute(const Instruction& i, const Picoseconds* durations) {
  // Compute queued beyond the start on any member counts for the whole group.
  lane_math::copy(scratch_.data(), compute_.tail(), lanes_);
  join_lanes(step_.grid, step_.program.comms[i.comm], scratch_);
  const bool follows = compute_comes_first(i);
  for (std::size_t lane = 0; lane < scratch_.size(); ++lane) {
    const bool beside = follows || scratch_[lane] > ready_[lane];
    scratch_[lane] = beside ? overlap_.lengthened(durations[lane], i.transfer) : durations[lane];
  }
  return scratch_.data();
}

bool RoleSweep::compute_comes_first(const Instruction& i) {
  marks_.clear();  // events recorded behind the collective
  for (std::size_t c = call_; c < role_.calls.size(); ++c) {
    const std::vector<Instruction>& instructions = code_.code[code_.code_of_call[c]].ops;
    for (std::size_t k = c == call_ ? pc_ + 1 : 0; k < instructions.size(); ++k) {
      const Instruction& next = instructions[k];
      if (next.action == Action::compute) return true;
      if (next.action == Action::follow && next.followed == i.stream &&
          next.stream == Stream::compute) {
        return false;
      }
      if (next.action == Action::record && next.stream == i.stream) {
        marks_.push_back(event_slot(role_.calls[c], next));
      }
      const bool waits = next.action == Action::host_sync ||
                         (next.action == Action::wait && next.stream == Stream::compute);
      if (waits && std::find(marks_.begin(), marks_.end(), event_slot(role_.calls[c], next)) !=
                       marks_.end()) {
        return false;
      }
    }
  }
  return false;
}

Completion* RoleSweep::run_meet(const Instruction& i) {
  const bool on_compute = i.stream == Stream::compute;
  if (Completion* blocker = on_compute ? compute_.settle() : raise_to_tail(i.stream)) {
    return blocker;
  }
  host_.issue(i.launches);
  if (on_compute) {
    compute_.idle_until_host(host_.now());
    lane_math::copy(ready_.data(), compute_.tail(), lanes_);
  } else {
    lane_math::raise_to(ready_.data(), host_.now(), lanes_);
  }
  join_lanes(step_.grid, step_.program.comms[i.comm], ready_);
  CompletionRef meeting = step_.rendezvous.meet(i, {.role = index_,
                                                    .floor = ready_.data(),
                                                    .inputs = {},
                                                    .duration = costs_.price(i.op),
                                                    .shares = next_transfer(i),
                                                    .noise = noise_of(i)});
  if (step_.recorder != nullptr) {
    step_.recorder->record_later(static_cast<std::uint32_t>(call_), i, host_.now(), meeting);
  }
  if (on_compute) {
    compute_.wait_for(meeting);
  } else {
    tail_of(i.stream).assign(1, meeting);
  }
  return nullptr;
}

void RoleSweep::post_alone(const Instruction& i) {
  host_.issue(i.launches);
  Completions& tail = tail_of(i.stream);
  CompletionRef transfer =
      step_.rendezvous.post(i, {.role = index_,
                                .floor = host_.now(),
                                .inputs = tail,
                                .duration = costs_.price(i.op),
                                .shares = i.sends ? next_transfer(i) : nullptr,
                                .noise = i.sends ? noise_of(i) : NoiseSource{}});
  if (step_.recorder != nullptr) {
    step_.recorder->record_later(static_cast<std::uint32_t>(call_), i, host_.now(), transfer);
  }
  tail.clear();
  tail.push_back(std::move(transfer));
}

Completion* RoleSweep::run_posts(const Instruction& first) {
  if (!first.more && !code_.groups_go_on && first.stream != Stream::compute) {
    post_alone(first);
    return nullptr;
  }
  const Instruction* last = &first;
  std::uint32_t streams = stream_bit(first.stream);
  int launches = first.launches;
  while (last->more) {
    ++last;
    streams |= stream_bit(last->stream);
    launches += last->launches;
  }
  // A group may go on over calls: what the call before posted is not waited for.
  const std::uint32_t begun = first.joins ? group_streams_ : 0;
  const bool on_compute = ((streams | begun) & stream_bit(Stream::compute)) != 0;
  const bool compute_joins = on_compute && (begun & stream_bit(Stream::compute)) == 0;
  if (compute_joins) {
    if (Completion* blocker = compute_.settle()) return blocker;
  }
  host_.issue(launches);
  if (compute_joins) compute_.idle_until_host(host_.now());
  if (!first.joins) begin_group();
  for (const Instruction* i = &first; i <= last; ++i) join_group(i->stream);
  lane_math::copy(ready_.data(), host_.now(), lanes_);
  if (on_compute) lane_math::raise_to(ready_.data(), compute_.tail(), lanes_);
  const std::size_t before = group_.size();
  for (const Instruction* i = &first; i <= last; ++i) post(*i);
  if (on_compute) {
    for (std::size_t k = before; k < group_.size(); ++k) compute_.wait_for(group_[k]);
  }
  for (std::size_t s = 0; s < side_tails_.size(); ++s) {
    const Stream stream = static_cast<Stream>(s);
    if ((group_streams_ & stream_bit(stream)) != 0 && stream != Stream::compute) {
      side_tails_[s] = group_;
    }
  }
  pc_ += static_cast<std::size_t>(last - &first);
  executed_ += last - &first;
  return nullptr;
}

void RoleSweep::begin_group() {
  group_.clear();
  group_waits_.clear();
  group_streams_ = 0;
}

void RoleSweep::join_group(Stream stream) {
  const bool joined = (group_streams_ & stream_bit(stream)) != 0;
  group_streams_ |= stream_bit(stream);
  if (joined || stream == Stream::compute) return;
  const Completions& tail = tail_of(stream);
  group_waits_.insert(group_waits_.end(), tail.begin(), tail.end());
}

void RoleSweep::post(const Instruction& i) {
  group_.push_back(step_.rendezvous.post(i, {.role = index_,
                                             .floor = ready_.data(),
                                             .inputs = group_waits_,
                                             .duration = costs_.price(i.op),
                                             .shares = i.sends ? next_transfer(i) : nullptr,
                                             .noise = i.sends ? noise_of(i) : NoiseSource{}}));
  if (step_.recorder == nullptr) return;
  step_.recorder->record_later(static_cast<std::uint32_t>(call_), i, host_.now(), group_.back());
}

}  // namespace windtunnel
