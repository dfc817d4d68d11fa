#pragma once
// Tier T1: compute and transfers of one device slow each other.
//
// Rules, each a closed form over the interval [start, end] of a transfer:
//  - A collective within the role has its interval when its last member arrives, which the sweep
//    knows at once. Compute issued after it goes on at rate 1 / (1 + theft) inside the interval and
//    at full rate outside. Where intervals overlap, the one issued first counts until it ends.
//  - Compute already queued when the interval becomes known loses what the overlap costs it at the
//    end of the queue: stolen = overlap * theft / (1 + theft), counted over the gapless stretch
//    before the tail with the class of its last op. The same holds for a point-to-point transfer,
//    whose interval is known when the compute stream waits for it.
//  - A collective on a side stream takes (1 + theft) times as long when compute is queued beyond
//  its
//    start on a member, or when more compute is issued before the compute stream waits for it.
// Collectives of several roles and collectives on the compute stream neither slow nor are slowed.
// With all thefts zero nothing here runs, so T1 equals T0.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/completion.h"
#include "sim/engine/fixed_point.h"
#include "sim/engine/step_costs.h"

namespace windtunnel {

class Overlap {
 public:
  Overlap(const Theft& theft, int lanes);

  bool enabled() const { return enabled_; }
  /// Whether compute of any class is slowed beside such a transfer.
  bool slows_compute(TransferKind kind) const {
    return slows_compute_[static_cast<std::size_t>(kind)];
  }
  /// Whether compute may meet an interval.
  bool active() const { return !active_.empty(); }

  /// A transfer's interval from now on slows compute.
  void commit(CompletionRef transfer) { active_.push_back(std::move(transfer)); }

  struct Work {
    const Picoseconds* start;      // [lane]
    const Picoseconds* durations;  // [lane] at full speed
    KernelClass cls;
  };
  /// When the work ends on each lane. Valid until the next call.
  const Picoseconds* end_of(const Work& work);

  /// Forgets intervals that end before the compute stream's tail on every lane.
  void drop_until(const Picoseconds* tail);

  /// Compute in the queue, without gaps on each lane.
  struct Queued {
    const Picoseconds* busy_since;
    const Picoseconds* tail;
    KernelClass cls;
  };
  /// What it loses to the transfer on each lane. Valid until the next call.
  const Picoseconds* lost_to(const Completion& transfer, const Queued& queued);

  /// A collective's time beside compute, from its time alone.
  Picoseconds lengthened(Picoseconds duration, TransferKind kind) const {
    return duration + scale_q16(duration, transfer_[static_cast<std::size_t>(kind)]);
  }

 private:
  struct Pair {
    FactorQ16 theft = 0;
    FactorQ16 stolen = 0;  // theft / (1 + theft)
  };
  const Pair& pair(KernelClass cls, TransferKind kind) const {
    return compute_[static_cast<std::size_t>(cls)][static_cast<std::size_t>(kind)];
  }

  static constexpr std::size_t kKinds = static_cast<std::size_t>(TransferKind::count);
  int lanes_;
  bool enabled_ = false;
  std::array<std::array<Pair, kKinds>, std::tuple_size_v<Theft::PerClass>> compute_{};
  std::array<FactorQ16, kKinds> transfer_{};
  std::array<bool, kKinds> slows_compute_{};
  std::vector<CompletionRef> active_;
  std::vector<Picoseconds> now_, work_;
};

}  // namespace windtunnel
