#pragma once
// The compute stream of one role: its tail on every lane, and the account of all its time.
//
// Whatever moves the tail charges the move to a row of the time table, so the rows sum to the tail.
// Waits are put down and taken up by the next op that needs the tail (`settle`), in host order;
// idle time is charged to the wait that ends it: queue, skew or running by the completion's own
// times, and after the last wait to the host (or to input, as far as the host was loading data).

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/completion.h"
#include "sim/engine/lane_math.h"
#include "sim/engine/overlap.h"
#include "sim/engine/time_table.h"

namespace windtunnel {

class ComputeStream {
 public:
  ComputeStream(CompletionPool& pool, Overlap& overlap, std::size_t categories, int role);

  const Picoseconds* tail() const { return tail_.data(); }
  TimeTable& table() { return table_; }
  const TimeTable& table() const { return table_; }

  /// Everything issued from now on waits for `completion`.
  void wait_for(CompletionRef completion) { pending_.push_back(std::move(completion)); }
  std::span<const CompletionRef> pending() const { return pending_; }
  /// Takes up the waits; nullptr, or the completion whose missing parties keep the tail unknown.
  Completion* settle() { return pending_.empty() ? nullptr : settle_pending(); }

  // Precondition of all below: settled.

  struct Kernel {
    std::uint16_t category = 0;
    KernelClass cls = KernelClass::none;
  };
  /// An op that takes the same time, or `durations` per lane. Its start is the tail or the host's
  /// time, whichever is later; `host` is when it was issued.
  void run(const Picoseconds* host, Picoseconds duration, Kernel kernel);
  void run_each(const Picoseconds* host, const Picoseconds* durations, Kernel kernel);
  /// A stretch of ops as one, `busy` and `reach` as in lane_math::run_stretch; its busy time is
  /// left to the caller to charge. Whether it could be taken as one: not beside transfers, and not
  /// with a gap that T1 needs to know the place of.
  [[nodiscard]] bool run_stretch(const Picoseconds* host, lane_math::StretchLanes stretch);
  /// The latest op, where `run_stretch` took it.
  void set_last(Kernel kernel) { last_ = kernel; }
  /// Idle until the host's time.
  void idle_until_host(const Picoseconds* host);
  /// Idle until `times`, charged to `category`.
  void idle_until(const Picoseconds* times, std::uint16_t category);
  /// A collective of the given price per lane.
  void communicate(const Picoseconds* durations, std::uint16_t category);
  void communicate(Picoseconds duration, std::uint16_t category);
  /// Compute in the queue loses time to a transfer whose interval has become known.
  void lose_to(const Completion& transfer);

  /// The host loaded data from `begin` to `end`.
  void host_loaded(const Picoseconds* begin, const Picoseconds* end);

 private:
  Completion* settle_pending();
  void absorb(Completion& completion);
  void raise_tail(const Picoseconds* times);
  void run_beside_transfers(const Picoseconds* host, const Picoseconds* durations, Kernel kernel);

  CompletionPool& pool_;
  Overlap& overlap_;
  int lanes_;
  int role_;
  std::vector<Picoseconds> tail_;
  TimeTable table_;
  std::vector<CompletionRef> pending_;
  Kernel last_;  // of the latest op
  bool loading_ = false;
  std::vector<Picoseconds> load_begin_, load_end_;
  std::vector<Picoseconds> busy_since_;  // without a gap up to the tail; kept for T1 only
  std::vector<Picoseconds> scratch_;
};

}  // namespace windtunnel
