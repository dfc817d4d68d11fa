#include "sim/memory/recurrence.h"

#include <algorithm>
#include <utility>

#include "core/counter_random.h"

namespace windtunnel {
namespace {

// Recent allocations a signature looks at: enough to tell rotations of equal buffers apart.
constexpr int kSignatureAddresses = 12;
// Proposals that failed before giving up: each costs two full states.
constexpr int kMostFailures = 4;
// Contents of blocks that belong to no instance are counted down from here.
constexpr std::uint32_t kNoInstance = 0xffffff00U;

}  // namespace

std::optional<int> Recurrence::observe(int boundary, const CachingAllocator& allocator,
                                       const Instances& instances) {
  if (failures_ >= kMostFailures) return std::nullopt;
  if (proposed_ > 0 && boundary == kept_boundary_ + proposed_) {
    if (state(boundary, allocator, instances) == kept_) return proposed_;
    proposed_ = 0;
    ++failures_;
  }
  const std::uint64_t now = signature(boundary, allocator, instances);
  if (proposed_ == 0) {
    const auto same = std::find(signatures_.rbegin(), signatures_.rend(), now);
    const int back = static_cast<int>(same - signatures_.rbegin()) + 1;
    // Verifying takes `back` periods; skipping must then still be worth at least as many.
    if (same != signatures_.rend() && boundary + 2 * back <= period_.periods()) {
      kept_ = state(boundary, allocator, instances);
      kept_boundary_ = boundary;
      proposed_ = back;
    }
  }
  signatures_.push_back(now);
  return std::nullopt;
}

std::uint64_t Recurrence::signature(int boundary, const CachingAllocator& allocator,
                                    const Instances& instances) const {
  std::uint64_t sum = allocator.cache_signature();
  int left = kSignatureAddresses;
  const int end = period_.begin + boundary * period_.length;
  for (int c = end - 1; c >= end - period_.length && left > 0; --c) {
    const CallMemory& call = calls_[static_cast<std::size_t>(c)];
    for (const MemoryOp& op : ops_.ops_of(call)) {
      const auto block = instances[ops_.instance(op, call.micro_batch)];
      if (op.kind != MemoryOp::Kind::alloc || block == CachingAllocator::kNoBlock) continue;
      sum += counter_hash(op.slot, static_cast<std::uint64_t>(allocator.address(block)));
      if (--left == 0) break;
    }
  }
  return sum;
}

std::vector<Recurrence::Item> Recurrence::state(int boundary, const CachingAllocator& allocator,
                                                const Instances& instances) const {
  std::vector<std::uint32_t> content;  // by block
  const auto put = [&](std::uint32_t instance, std::uint32_t relative) {
    const auto block = instances[instance];
    if (block == CachingAllocator::kNoBlock) return;
    if (content.size() <= block) content.resize(block + 1, kNoInstance);
    content[block] = relative;
  };
  const std::uint32_t shift = static_cast<std::uint32_t>(boundary * period_.shift);
  const std::uint32_t fixed = ops_.frames.empty() ? ops_.instances : ops_.frames.front().first;
  for (std::uint32_t i = 0; i < fixed; ++i) put(i, i);
  std::uint32_t after = fixed;
  for (const FrameInstances& frame : ops_.frames) {
    for (std::uint32_t m = 0; m < ops_.window; ++m) {
      const std::uint32_t relative = (m - shift) & (ops_.window - 1);
      for (std::uint32_t s = 0; s < frame.slots; ++s) {
        put(frame.first + m * frame.slots + s, frame.first + relative * frame.slots + s);
      }
    }
    after = frame.first + ops_.window * frame.slots;
  }
  for (std::uint32_t i = after; i < ops_.instances; ++i) put(i, i);

  std::vector<Item> items;
  allocator.for_each_block([&](CachingAllocator::Block block, std::int64_t address,
                               std::int64_t size, CachingAllocator::State state) {
    const bool live = state == CachingAllocator::State::live;
    items.push_back({.address = address,
                     .size = size,
                     .content = live && block < content.size()
                                    ? content[block]
                                    : kNoInstance + static_cast<std::uint32_t>(state)});
  });
  return items;
}

}  // namespace windtunnel
