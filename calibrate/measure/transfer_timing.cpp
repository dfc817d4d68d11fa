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

/// As in a step: what travels was just written, and the wires have been quiet for a while.
void compute_meanwhile(WireType type, std::span<std::byte> written) {
  const double until = clock_seconds() + kQuietSeconds;
  do write_ones(type, written);
  while (clock_seconds() < until);
}

bool not_in_place(WireKind kind) {
  return kind == WireKind::all_to_all || kind == WireKind::ring_shift;
}

bool gathers(const TransferPlan& plan) {
  return plan.kind == WireKind::all_gather && plan.part != PartPlace::inside;
}

bool scatters(const TransferPlan& plan) {
  return plan.kind == WireKind::reduce_scatter && plan.part != PartPlace::inside;
}

/// Blocks of that size that the repetitions take in turn.
std::int64_t copies_of(const TransferPlan& plan, std::int64_t elements) {
  constexpr std::int64_t kMostCopies = 64;
  const std::int64_t bytes = std::max<std::int64_t>(1, elements * bytes_of(plan.type));
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

void TransferMemory::take(const TransferPlan& plan, Blocks& blocks, std::int64_t elements,
                          std::int64_t count) {
  const std::int64_t bytes = elements * bytes_of(plan.type);
  for (; count > 0; --count) {
    const std::span<std::byte> block(static_cast<std::byte*>(device_.allocate(bytes, 0)),
                                     static_cast<std::size_t>(bytes));
    write_ones(plan.type, block);
    blocks.all.push_back(block);
  }
}

TransferMemory::TransferMemory(const TransferPlan& plan, Device& device) : device_(device) {
  const std::int64_t n = plan.elements, part = n / plan.members;
  take(plan, wholes_, n, gathers(plan) ? copies_of(plan, n) : 1);
  if (not_in_place(plan.kind)) take(plan, others_, n, copies_of(plan, n));
  if (gathers(plan) || scatters(plan))
    take(plan, parts_, part, plan.part == PartPlace::old ? copies_of(plan, part) : 1);
}

TransferMemory::~TransferMemory() {
  for (const Blocks* blocks : {&wholes_, &others_, &parts_}) {
    for (const std::span<std::byte> block : blocks->all) device_.deallocate(block.data());
  }
}

std::span<std::byte> TransferMemory::recent(const TransferPlan& plan, int i) const {
  if (!gathers(plan)) return whole(i);
  return plan.part == PartPlace::recent ? part(i) : whole(i - 1);  // the layer's before
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
    TransferPart part = part_of(plan, memory.whole(i).data(), memory.part(i));
    if (not_in_place(plan.kind)) part.out = memory.other(i).data();
    barrier();
    if (plan.rests) {
      rest_until(std::chrono::steady_clock::now() + kQuiet);
    } else {
      compute_meanwhile(plan.type, memory.recent(plan, i));
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
