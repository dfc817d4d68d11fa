#include "calibrate/measure/transfer_timing.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "calibrate/measure/stopwatch.h"
#include "core/check.h"
#include "runtime/emulated_compute.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kSmallest = 4;  // one fp32: a norm, a loss
constexpr std::int64_t kStepFactor = 4;
constexpr auto kQuiet = std::chrono::duration_cast<std::chrono::nanoseconds>(
    std::chrono::duration<double>(kQuietSeconds));

/// Ones of the wire's type, so that sums stay numbers.
void write_ones(WireType type, std::span<std::byte> bytes) {
  if (type == WireType::fp32) {
    float* at = reinterpret_cast<float*>(bytes.data());
    std::fill(at, at + bytes.size() / sizeof *at, 1.0F);
  } else if (type == WireType::fp64) {
    double* at = reinterpret_cast<double*>(bytes.data());
    std::fill(at, at + bytes.size() / sizeof *at, 1.0);
  } else {
    std::uint64_t* at = reinterpret_cast<std::uint64_t*>(bytes.data());
    std::fill(at, at + bytes.size() / sizeof *at, std::uint64_t{1});
  }
}

std::span<std::byte> take_ones(const TransferPlan& plan, Device& device, int parts = 1) {
  const std::int64_t bytes = plan.elements / parts * bytes_of(plan.type);
  const std::span<std::byte> taken(static_cast<std::byte*>(device.allocate(bytes, 0)),
                                   static_cast<std::size_t>(bytes));
  write_ones(plan.type, taken);
  return taken;
}

/// As in a step: what travels was just written, and the wires have been quiet for a while.
void compute_meanwhile(WireType type, std::span<std::byte> written) {
  const double until = clock_seconds() + kQuietSeconds;
  do write_ones(type, written);
  while (clock_seconds() < until);
}

bool not_in_place(WireKind kind) {
  return kind == WireKind::all_to_all || kind == WireKind::ring_shift;
}

/// Blocks that the repetitions take in turn.
std::int64_t part_copies(const TransferPlan& plan) {
  constexpr std::int64_t kMostCopies = 64;
  const bool parted = plan.kind == WireKind::all_gather || plan.kind == WireKind::reduce_scatter;
  if (!parted || plan.part == PartPlace::inside) return 0;
  if (plan.part == PartPlace::recent) return 1;
  const std::int64_t bytes =
      std::max<std::int64_t>(1, plan.elements / plan.members * bytes_of(plan.type));
  return std::clamp(rotated_bytes(plan.touched_bytes) / bytes, std::int64_t{1}, kMostCopies);
}

/// Operands as a step has them: a reduction in place, a gather from and a scatter into `own`, or
/// its own place in the whole where that is empty.
TransferPart part_of(const TransferPlan& plan, std::byte* whole, std::span<std::byte> own_part) {
  std::byte* own = own_part.data();
  if (own_part.empty())
    own = whole + plan.elements / plan.members * plan.place * bytes_of(plan.type);
  TransferPart part{.kind = plan.kind,
                    .reduction = Reduction::none,
                    .type = plan.type,
                    .elements = plan.elements,
                    .in = whole,
                    .out = whole,
                    .peer = plan.peer};
  if (plan.kind == WireKind::all_gather) part.in = own;
  if (plan.kind == WireKind::reduce_scatter) part.out = own;
  if (plan.kind == WireKind::all_reduce || plan.kind == WireKind::reduce_scatter) {
    part.reduction = Reduction::sum;
  }
  return part;
}

}  // namespace

TransferMemory::TransferMemory(const TransferPlan& plan, Device& device)
    : device_(device), whole_(take_ones(plan, device)) {
  if (not_in_place(plan.kind)) other_ = take_ones(plan, device);
  for (std::int64_t n = part_copies(plan); n > 0; --n)
    parts_.push_back(take_ones(plan, device, plan.members));
}

TransferMemory::~TransferMemory() {
  device_.deallocate(whole_.data());
  if (!other_.empty()) device_.deallocate(other_.data());
  for (const std::span<std::byte> part : parts_) device_.deallocate(part.data());
}

std::span<std::byte> TransferMemory::part(int i) const {
  return parts_.empty() ? std::span<std::byte>()
                        : parts_[static_cast<std::size_t>(i) % parts_.size()];
}

Barrier make_barrier(Communicator& communicator, int group) {
  auto number = std::make_shared<float>(1.0F);
  return [&communicator, group, number] {
    *number = 1.0F;
    const Communicator::Ticket ticket = communicator.announce(group, {.kind = WireKind::all_reduce,
                                                                      .reduction = Reduction::max,
                                                                      .type = WireType::fp32,
                                                                      .elements = 1,
                                                                      .in = number.get(),
                                                                      .out = number.get()});
    communicator.arrive(ticket);
    communicator.finish(ticket);
  };
}

std::vector<TransferStamps> measure_transfer(Communicator& communicator, const TransferPlan& plan,
                                             const Barrier& barrier, const TransferMemory& memory) {
  CHECK(plan.elements > 0 && plan.elements % plan.members == 0,
        "every member has an equal part of what travels");
  std::vector<TransferStamps> stamps;
  for (int i = 0; i < plan.warm_up + plan.repeats; ++i) {
    TransferPart part = part_of(plan, memory.whole().data(), memory.part(i));
    if (not_in_place(plan.kind)) part.out = memory.other().data();
    const bool recent = plan.part == PartPlace::recent && plan.kind == WireKind::all_gather;
    barrier();
    if (plan.rests) {
      rest_until(std::chrono::steady_clock::now() + kQuiet);
    } else {
      compute_meanwhile(plan.type, recent ? memory.part(i) : memory.whole());
    }
    TransferStamps stamp{.arrived_s = clock_seconds()};
    const Communicator::Ticket ticket = communicator.announce(plan.group, part);
    communicator.arrive(ticket);
    communicator.finish(ticket);
    stamp.ended_s = clock_seconds();
    if (i >= plan.warm_up) stamps.push_back(stamp);
  }
  return stamps;
}

MemberTimes member_times(std::span<const std::vector<TransferStamps>> of_ranks) {
  MemberTimes times;
  if (of_ranks.empty()) return times;
  std::size_t repeats = of_ranks.front().size();
  for (const auto& stamps : of_ranks) repeats = std::min(repeats, stamps.size());
  for (std::size_t i = 0; i < repeats; ++i) {
    TransferStamps last = of_ranks.front()[i];
    for (const auto& stamps : of_ranks) {
      last.arrived_s = std::max(last.arrived_s, stamps[i].arrived_s);
      last.ended_s = std::max(last.ended_s, stamps[i].ended_s);
    }
    double early = 0.0;
    for (const auto& stamps : of_ranks) {
      early += last.ended_s - std::max(stamps[i].ended_s, last.arrived_s);
    }
    times.seconds.push_back(last.ended_s - last.arrived_s);
    times.early.push_back(early / static_cast<double>(of_ranks.size()));
  }
  return times;
}

std::vector<std::int64_t> transfer_sizes(std::span<const std::int64_t> program_bytes) {
  std::set<std::int64_t> sizes;
  std::int64_t largest = 0;
  for (const std::int64_t bytes : program_bytes) {
    if (bytes > 0) sizes.insert(bytes);
    largest = std::max(largest, bytes);
  }
  for (std::int64_t size = kSmallest; size < largest; size *= kStepFactor) sizes.insert(size);
  return {sizes.begin(), sizes.end()};
}

}  // namespace windtunnel
