#pragma once
// The size rules of PyTorch's CUDA caching allocator, as pure functions of byte counts.
//
// Source: pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp at 001074d and
// c10/core/AllocatorConfig.h at 007b9bc. Valid for the allocator's default settings: max_split_size
// unlimited, no roundup_power2_divisions, no garbage collection threshold.

#include <cstdint>

namespace windtunnel {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

constexpr std::int64_t kMinBlockBytes = 512;            // every block is a multiple of this
constexpr std::int64_t kSmallMaxBytes = kMiB;           // larger requests go to the large pool
constexpr std::int64_t kSmallSegmentBytes = 2 * kMiB;   // one cudaMalloc of the small pool
constexpr std::int64_t kLargeSegmentBytes = 20 * kMiB;  // of the large pool, below kOwnSegmentBytes
constexpr std::int64_t kOwnSegmentBytes = 10 * kMiB;    // from here a request has its own segment
constexpr std::int64_t kOwnSegmentRounding = 2 * kMiB;

constexpr std::int64_t round_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Bytes of the block that serves a request of `bytes` > 0.
constexpr std::int64_t block_bytes(std::int64_t bytes) {
  return bytes <= kMinBlockBytes ? kMinBlockBytes : round_up(bytes, kMinBlockBytes);
}

constexpr bool is_small_block(std::int64_t block) {
  return block <= kSmallMaxBytes;
}

/// Bytes asked of cudaMalloc when no cached block can serve `block` bytes.
constexpr std::int64_t segment_bytes(std::int64_t block) {
  if (is_small_block(block)) return kSmallSegmentBytes;
  if (block < kOwnSegmentBytes) return kLargeSegmentBytes;
  return round_up(block, kOwnSegmentRounding);
}

/// The smallest rest of a cached block that is split off: 512 B in the small pool and in expandable
/// segments, above 1 MiB in the large pool.
constexpr std::int64_t least_rest(bool splits_finely) {
  return splits_finely ? kMinBlockBytes : kSmallMaxBytes + 1;
}

/// Physical page that expandable segments map at once.
constexpr std::int64_t page_bytes(bool small_pool) {
  return small_pool ? kSmallSegmentBytes : kLargeSegmentBytes;
}

}  // namespace windtunnel
