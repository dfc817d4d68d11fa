#pragma once
// The time of a transfer between ranks: from the last member's arrival to the last one's end.
//
// Every member calls `measure_transfer` with the same plan; each notes when it arrives and when its
// part has ended, on the clock that the processes of a machine share. Whoever gathers the stamps of
// all members gets the times from `member_times`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "calibrate/measure/old_memory.h"
#include "kernels/device/communicator.h"
#include "kernels/device/device.h"

namespace windtunnel {

/// How long every member computes before each transfer.
constexpr double kQuietSeconds = 5e-4;  // a layer's compute on a laptop's model

/// Returns when all members have called it.
using Barrier = std::function<void()>;

/// A barrier made of an all-reduce of one number on the communicator itself.
Barrier make_barrier(Communicator& communicator, int group);

struct TransferPlan {
  int group = 0;  // counts the communicator's list
  WireKind kind = WireKind::all_reduce;
  WireType type = WireType::fp32;
  std::int64_t elements = 0;  // of the full tensor; a multiple of the members
  int members = 2;
  int place = 0;  // this rank's among them
  int peer = -1;  // send, recv: the other rank
  int warm_up = 2, repeats = 20;
  PartPlace part = PartPlace::inside;  // of a gather or a scatter
  std::int64_t touched_bytes = 0;      // what a step touches between two uses of old memory
  bool rests = false;  // before each, instead of computing: as in a run with emulated compute
};

/// What travels and what comes, in the device's memory as in a step: how fast a message is copied
/// depends on its pages. Results in memory of their own have several blocks, as kernels' have
/// (kernel_operands.h): the allocator serves any. So have parts that are old.
class TransferMemory {
 public:
  /// Host thread. Throws OutOfDeviceMemory.
  TransferMemory(const TransferPlan& plan, Device& device);
  ~TransferMemory();
  TransferMemory(const TransferMemory&) = delete;
  TransferMemory& operator=(const TransferMemory&) = delete;

  /// In repetition `i`.
  std::span<std::byte> whole(int i) const { return wholes_.at(i); }
  std::span<std::byte> other(int i) const { return others_.at(i); }  // all_to_all, ring_shift
  /// A gather's or scatter's own part; empty: it lies in the whole.
  std::span<std::byte> part(int i) const { return parts_.at(i); }
  /// What the op before has just written or used.
  std::span<std::byte> recent(const TransferPlan& plan, int i) const;

 private:
  struct Blocks {
    std::vector<std::span<std::byte>> all{};

    std::span<std::byte> at(int i) const {
      const auto n = static_cast<int>(all.size());
      return n == 0 ? std::span<std::byte>() : all[static_cast<std::size_t>((i % n + n) % n)];
    }
  };
  void take(const TransferPlan& plan, Blocks& blocks, std::int64_t elements, std::int64_t count);

  Device& device_;
  Blocks wholes_, others_, parts_;
};

struct TransferStamps {
  double arrived_s = 0.0, ended_s = 0.0;
};

/// This rank's stamps, one per repetition. Before each, every member computes for half a
/// millisecond on what it will send: in a step the wires are quiet while a layer computes, and the
/// thread that serves them sleeps. Throws TransferError.
std::vector<TransferStamps> measure_transfer(Communicator& communicator, const TransferPlan& plan,
                                             const Barrier& barrier, const TransferMemory& memory);

/// Of every repetition, as many as all members have.
struct MemberTimes {
  std::vector<double> seconds;  // last end less last arrival
  std::vector<double> early;    // last end less a member's own, mean over the members
};

/// `of_ranks`: the stamps of every member. One that ends before the last arrives is as early as the
/// whole time.
MemberTimes member_times(std::span<const std::vector<TransferStamps>> of_ranks);

/// Sizes to measure around those that a program sends: powers of four from 4 bytes up to the
/// largest, and the program's own. Ascending, each once.
std::vector<std::int64_t> transfer_sizes(std::span<const std::int64_t> program_bytes);

}  // namespace windtunnel
