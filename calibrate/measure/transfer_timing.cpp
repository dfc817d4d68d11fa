#include "calibrate/measure/transfer_timing.h"

#include <algorithm>
#include <memory>
#include <set>

#include "calibrate/measure/stopwatch.h"
#include "core/check.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kSmallest = 4;  // one fp32: a norm, a loss
constexpr std::int64_t kStepFactor = 4;

/// Ones of the wire's type, so that sums stay numbers.
std::vector<std::byte> ones(WireType type, std::int64_t elements) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements * bytes_of(type)));
  if (type == WireType::fp32) {
    float* at = reinterpret_cast<float*>(bytes.data());
    std::fill(at, at + elements, 1.0F);
  } else if (type == WireType::fp64) {
    double* at = reinterpret_cast<double*>(bytes.data());
    std::fill(at, at + elements, 1.0);
  } else {
    std::uint64_t* at = reinterpret_cast<std::uint64_t*>(bytes.data());
    std::fill(at, at + elements, std::uint64_t{1});
  }
  return bytes;
}

bool reduces(WireKind kind) {
  return kind == WireKind::all_reduce || kind == WireKind::reduce_scatter;
}

}  // namespace

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
                                             const Barrier& barrier) {
  CHECK(plan.elements > 0 && plan.elements % plan.members == 0,
        "every member has an equal part of what travels");
  std::vector<std::byte> in = ones(plan.type, plan.elements);
  std::vector<std::byte> out = ones(plan.type, plan.elements);
  const bool receives = plan.kind == WireKind::recv;
  const bool sends = plan.kind == WireKind::send;
  // A broadcast and an average of ones leave ones.
  const TransferPart part{.kind = plan.kind,
                          .reduction = reduces(plan.kind) ? Reduction::average : Reduction::none,
                          .type = plan.type,
                          .elements = plan.elements,
                          .in = receives ? out.data() : in.data(),
                          .out = sends || plan.kind == WireKind::broadcast ? in.data() : out.data(),
                          .peer = plan.peer};
  std::vector<TransferStamps> stamps;
  for (int i = 0; i < plan.warm_up + plan.repeats; ++i) {
    barrier();
    TransferStamps stamp{.arrived_s = clock_seconds()};
    const Communicator::Ticket ticket = communicator.announce(plan.group, part);
    communicator.arrive(ticket);
    communicator.finish(ticket);
    stamp.ended_s = clock_seconds();
    if (i >= plan.warm_up) stamps.push_back(stamp);
  }
  return stamps;
}

std::vector<double> transfer_seconds(std::span<const std::vector<TransferStamps>> of_ranks) {
  std::vector<double> seconds;
  if (of_ranks.empty()) return seconds;
  std::size_t repeats = of_ranks.front().size();
  for (const auto& stamps : of_ranks) repeats = std::min(repeats, stamps.size());
  for (std::size_t i = 0; i < repeats; ++i) {
    TransferStamps last = of_ranks.front()[i];
    for (const auto& stamps : of_ranks) {
      last.arrived_s = std::max(last.arrived_s, stamps[i].arrived_s);
      last.ended_s = std::max(last.ended_s, stamps[i].ended_s);
    }
    seconds.push_back(last.ended_s - last.arrived_s);
  }
  return seconds;
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
