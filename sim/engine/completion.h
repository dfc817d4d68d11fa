#pragma once
// A completion is the time something ends on every lane, known or not yet known.
//
// start = max over the inputs' ends (and a floor given at the time of making), end = start +
// duration. It is known once no party is missing and every input is known. Streams, events and
// channels hold completions instead of times, so a transfer whose peer has not posted yet delays
// only those who need its end, and the order in which roles are swept changes nothing.
//
// Completions live in a pool and are counted by `CompletionRef`.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/units.h"
#include "sim/engine/fixed_point.h"
#include "sim/engine/lane_grid.h"
#include "sim/engine/lane_math.h"
#include "sim/engine/step_costs.h"
#include "sim/engine/transfer_log.h"

namespace windtunnel {

class CompletionPool;
class LaneCosts;
struct Completion;

class CompletionRef {
 public:
  CompletionRef() = default;
  explicit CompletionRef(Completion* target);
  CompletionRef(const CompletionRef& other);
  CompletionRef(CompletionRef&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  CompletionRef& operator=(CompletionRef other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~CompletionRef();

  Completion* operator->() const { return target_; }
  Completion& operator*() const { return *target_; }
  Completion* get() const { return target_; }
  explicit operator bool() const { return target_ != nullptr; }

 private:
  Completion* target_ = nullptr;
};

/// Rows of the time table that waiting for a completion is charged to.
struct WaitCharges {
  std::uint16_t queue = 0;    // until this rank had arrived
  std::uint16_t skew = 0;     // from then until the last member had arrived
  std::uint16_t running = 0;  // while it runs
};

/// Where the noise of a transfer is drawn; no `costs`: it has none.
struct NoiseSource {
  LaneCosts* costs = nullptr;  // of the role whose op gave the duration
  std::uint32_t call = 0, op = 0;
};

struct Completion {
  /// What it is; default again when the node is used anew.
  struct Terms {
    const Picoseconds* duration = nullptr;  // per draw; nullptr: takes no time
    const FactorQ16* slow = nullptr;        // per lane, on the duration; nullptr: 1
    TransferEntry* shares = nullptr;        // T2: its links are shared; nullptr: they are not
    NoiseSource noise;
    WaitCharges charges;
    std::uint16_t comm = 0;
    std::int16_t source = -1, destination = -1;   // roles; collectives: -1
    std::int16_t priced_by = -1;                  // role whose op gave `duration`
    TransferKind transfer = TransferKind::count;  // count: not a transfer
    bool known = false;
    bool has_arrival = false;
    std::uint8_t slowed = 0;   // bit 0 source, bit 1 destination: its theft of compute is charged
    std::int32_t missing = 0;  // parties that have not posted
    std::int32_t waiter = -1;  // first role in line for the missing parties
  };

  // One entry per lane. `arrival` (this rank had arrived) means something only with `has_arrival`;
  // else it is `start`.
  Picoseconds* start = nullptr;
  Picoseconds* end = nullptr;
  Picoseconds* arrival = nullptr;
  CompletionPool* pool = nullptr;
  std::uint32_t references = 0;
  Terms terms;
  std::vector<CompletionRef> inputs;  // released once known
};

class CompletionPool {
 public:
  explicit CompletionPool(const LaneGrid& grid);
  CompletionPool(const CompletionPool&) = delete;
  CompletionPool& operator=(const CompletionPool&) = delete;
  ~CompletionPool();

  int lanes() const { return lanes_; }
  /// A fresh completion, unknown, without parties or inputs; its times are not set.
  CompletionRef make() {
    if (free_.empty()) grow();
    Completion* node = free_.back();
    free_.pop_back();
    return CompletionRef(node);
  }
  /// A known completion whose start and end are at `time`.
  CompletionRef make_at(const Picoseconds* time) {
    CompletionRef made = make();
    lane_math::copy(made->start, time, lanes_);
    lane_math::copy(made->end, time, lanes_);
    made->terms.known = true;
    return made;
  }
  /// Makes `completion` known if it can be; nullptr, or the completion whose parties are missing.
  Completion* resolve(Completion& completion);
  /// Completions in use at the fullest moment.
  std::size_t peak() const { return nodes_.size(); }

 private:
  friend class CompletionRef;
  Completion* resolve_inputs(Completion& completion);
  void add_duration(Completion& completion) const;
  void grow();
  void recycle(Completion* completion) {
    if (!completion->inputs.empty()) completion->inputs.clear();
    completion->terms = {};
    free_.push_back(completion);
  }

  int lanes_;
  int draws_;
  std::deque<Completion> nodes_;
  std::vector<std::unique_ptr<Picoseconds[]>> times_;
  std::vector<Completion*> free_;
};

inline CompletionRef::CompletionRef(Completion* target) : target_(target) {
  if (target_ != nullptr) ++target_->references;
}
inline CompletionRef::CompletionRef(const CompletionRef& other) : CompletionRef(other.target_) {}
inline CompletionRef::~CompletionRef() {
  if (target_ != nullptr && --target_->references == 0) target_->pool->recycle(target_);
}
inline Completion* CompletionPool::resolve(Completion& completion) {
  return completion.terms.known ? nullptr : resolve_inputs(completion);
}

}  // namespace windtunnel
