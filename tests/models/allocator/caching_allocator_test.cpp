// The allocator's documented rules, one by one.

#include "models/allocator/caching_allocator.h"

#include <gtest/gtest.h>

#include <vector>

namespace windtunnel {
namespace {

constexpr std::int64_t kGiB = 1024 * kMiB;
constexpr auto kOutOfMemory = CachingAllocator::kOutOfMemory;

TEST(AllocatorRules, RoundsToBlocksAndSegments) {
  struct Case {
    std::int64_t bytes, block, segment;
  };
  const Case cases[] = {
      {1, 512, 2 * kMiB},
      {512, 512, 2 * kMiB},
      {513, 1024, 2 * kMiB},
      {kMiB, kMiB, 2 * kMiB},
      {kMiB + 1, kMiB + 512, 20 * kMiB},
      {10 * kMiB - 512, 10 * kMiB - 512, 20 * kMiB},
      {10 * kMiB, 10 * kMiB, 10 * kMiB},
      {10 * kMiB + 1, 10 * kMiB + 512, 12 * kMiB},
      {8519680, 8519680, 20 * kMiB},  // cuBLAS workspace before Hopper: a 20 MiB segment
  };
  for (const Case& c : cases) {
    CachingAllocator a;
    const auto block = a.alloc(c.bytes, 0);
    EXPECT_EQ(block_bytes(c.bytes), c.block) << c.bytes;
    EXPECT_EQ(a.stats().reserved, c.segment) << c.bytes;
    EXPECT_GE(a.size(block), c.block) << c.bytes;
  }
}

TEST(CachingAllocator, LargeBlockKeepsARestUpToOneMiB) {
  CachingAllocator a;
  const auto block = a.alloc(11 * kMiB, 0);  // segment of 12 MiB, rest of exactly 1 MiB
  EXPECT_EQ(a.stats().allocated, 12 * kMiB);
  EXPECT_EQ(a.size(block), 12 * kMiB);
  a.free(block);
  a.alloc(11 * kMiB - 512, 0);  // rest of 1 MiB + 512 B is split off
  EXPECT_EQ(a.stats().allocated, 11 * kMiB - 512);
  EXPECT_EQ(a.inactive_split(), kMiB + 512);
  EXPECT_EQ(a.stats().reserved, 12 * kMiB);
}

TEST(CachingAllocator, ATensorOfTerabytesIsNotServedFromTheCache) {
  // 2 TiB and a little: its size in blocks leaves the 32 bits that cached blocks count in.
  CachingAllocator a;
  a.free(a.alloc(64 * kMiB, 0));
  EXPECT_EQ(a.alloc(2048 * kGiB, 0), kOutOfMemory);
  EXPECT_EQ(a.alloc(2048 * kGiB + 32 * kMiB, 0), kOutOfMemory);
  EXPECT_EQ(a.stats().allocated, 0);
}

TEST(CachingAllocator, SmallBlocksShareASegment) {
  CachingAllocator a;
  for (int i = 0; i < 4096; ++i) a.alloc(512, 0);
  EXPECT_EQ(a.stats().reserved, 2 * kMiB);
  EXPECT_EQ(a.inactive_split(), 0);
  a.alloc(1, 0);
  EXPECT_EQ(a.stats().reserved, 4 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestThenTheLowest) {
  CachingAllocator a;
  const auto b40 = a.alloc(40 * kMiB, 0);
  const auto b30 = a.alloc(30 * kMiB, 0);
  const auto b30_later = a.alloc(30 * kMiB, 0);
  const std::int64_t low = a.address(b30);
  a.free(b30_later);
  a.free(b40);
  a.free(b30);
  const auto got = a.alloc(29 * kMiB, 0);  // rest of 1 MiB stays in the block
  EXPECT_EQ(a.address(got), low);
  EXPECT_EQ(a.size(got), 30 * kMiB);
  EXPECT_EQ(a.stats().device_allocs, 3);
}

TEST(CachingAllocator, PoolsAreSeparatePerStreamAndSize) {
  CachingAllocator a;
  a.free(a.alloc(64 * kMiB, 0));
  a.alloc(64 * kMiB, 1);  // another stream: not from the cache
  EXPECT_EQ(a.stats().reserved, 128 * kMiB);
  a.alloc(kMiB, 0);  // small pool: not from the cached large block
  EXPECT_EQ(a.stats().reserved, 130 * kMiB);
}

TEST(CachingAllocator, MergesWithBothNeighboursOfTheSegment) {
  CachingAllocator a;
  const auto x = a.alloc(4 * kMiB, 0), y = a.alloc(4 * kMiB, 0), z = a.alloc(4 * kMiB, 0);
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.free(x);
  a.free(z);  // joins the free 8 MiB behind it
  EXPECT_EQ(a.inactive_split(), 16 * kMiB);
  a.free(y);
  EXPECT_EQ(a.inactive_split(), 0);
  EXPECT_EQ(a.stats().whole, 20 * kMiB);
  EXPECT_EQ(a.size(a.alloc(19 * kMiB, 0)), 20 * kMiB);
}

TEST(CachingAllocator, RetiredBlocksStayActiveUntilReleased) {
  CachingAllocator a;
  const auto x = a.alloc(32 * kMiB, 0);
  a.retire(x);
  EXPECT_EQ(a.stats().allocated, 0);
  EXPECT_EQ(a.stats().active(), 32 * kMiB);
  a.alloc(32 * kMiB, 0);  // the retired block cannot serve
  EXPECT_EQ(a.stats().reserved, 64 * kMiB);
  a.release(x);
  EXPECT_EQ(a.stats().active(), 32 * kMiB);
  a.alloc(32 * kMiB, 0);
  EXPECT_EQ(a.stats().reserved, 64 * kMiB);
}

TEST(CachingAllocator, AFullDeviceReturnsWholeCachedSegmentsAndRetries) {
  CachingAllocator a({.capacity_bytes = 100 * kMiB});
  const auto x = a.alloc(40 * kMiB, 0), y = a.alloc(40 * kMiB, 0);
  a.free(x);
  a.free(y);
  EXPECT_NE(a.alloc(60 * kMiB, 0), kOutOfMemory);
  EXPECT_EQ(a.stats().retries, 1);
  EXPECT_EQ(a.stats().reserved, 60 * kMiB);
}

TEST(CachingAllocator, FragmentsThatShareASegmentCannotBeReturned) {
  // 20 MiB segments, each left with one 4 MiB block: 80 % of the device is free, a request for 30
  // MiB fails.
  CachingAllocator a({.capacity_bytes = 100 * kMiB});
  std::vector<CachingAllocator::Block> all;
  for (int i = 0; i < 25; ++i) all.push_back(a.alloc(4 * kMiB, 0));
  EXPECT_EQ(a.stats().reserved, 100 * kMiB);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 5 != 0) a.free(all[i]);
  }
  EXPECT_EQ(a.stats().allocated, 20 * kMiB);
  EXPECT_EQ(a.inactive_split(), 80 * kMiB);
  EXPECT_EQ(a.stats().held(), 100 * kMiB);
  EXPECT_EQ(a.alloc(30 * kMiB, 0), kOutOfMemory);
  EXPECT_NE(a.alloc(16 * kMiB, 0), kOutOfMemory);
}

TEST(CachingAllocator, ALargeCachedBlockIsEatenBySmallerRequests) {
  // Freed 64 MiB, then 20 requests of 3 MiB: best fit splits the big block, and the next 64 MiB
  // needs a new segment although 4 MiB would have been enough elsewhere.
  CachingAllocator a;
  a.free(a.alloc(64 * kMiB, 0));
  a.alloc(3 * kMiB, 0);
  EXPECT_EQ(a.stats().reserved, 64 * kMiB);
  a.alloc(64 * kMiB, 0);
  EXPECT_EQ(a.stats().reserved, 128 * kMiB);
}

TEST(CachingAllocator, CapacityIsExact) {
  CachingAllocator a({.capacity_bytes = 32 * kMiB});
  EXPECT_EQ(a.alloc(32 * kMiB + 1, 0), kOutOfMemory);
  EXPECT_NE(a.alloc(32 * kMiB, 0), kOutOfMemory);
  EXPECT_EQ(a.alloc(1, 0), kOutOfMemory);
}

TEST(CachingAllocator, ResetForgetsEverything) {
  CachingAllocator a;
  a.alloc(3 * kMiB, 0);
  a.free(a.alloc(40 * kMiB, 2));
  a.reset({.capacity_bytes = kGiB});
  EXPECT_EQ(a.stats().reserved, 0);
  a.alloc(40 * kMiB, 2);
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
}

TEST(ExpandableSegments, MapsPagesAndSplitsFinely) {
  CachingAllocator a({.capacity_bytes = kGiB, .expandable_segments = true});
  const auto block = a.alloc(21 * kMiB, 0);  // two pages of 20 MiB
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
  EXPECT_EQ(a.size(block), 21 * kMiB);
  a.alloc(18 * kMiB, 0);
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
  a.alloc(20 * kMiB, 0);  // 1 MiB free at the end: one more page
  EXPECT_EQ(a.stats().reserved, 60 * kMiB);
  a.alloc(512, 0);
  EXPECT_EQ(a.stats().reserved, 62 * kMiB);
}

TEST(ExpandableSegments, FreedNeighboursServeALargerRequest) {
  // With fixed segments the two freed 40 MiB blocks could not serve 80 MiB.
  for (const bool expandable : {false, true}) {
    CachingAllocator a({.capacity_bytes = kGiB, .expandable_segments = expandable});
    const auto x = a.alloc(40 * kMiB, 0), y = a.alloc(40 * kMiB, 0);
    a.free(x);
    a.free(y);
    a.alloc(80 * kMiB, 0);
    EXPECT_EQ(a.stats().reserved, (expandable ? 80 : 160) * kMiB);
  }
}

TEST(ExpandableSegments, AFullDeviceUnmapsWholePagesInsideCachedBlocks) {
  CachingAllocator a({.capacity_bytes = 100 * kMiB, .expandable_segments = true});
  const auto head = a.alloc(10 * kMiB, 0), body = a.alloc(60 * kMiB, 0),
             tail = a.alloc(30 * kMiB, 0);
  EXPECT_EQ(a.stats().reserved, 100 * kMiB);
  a.free(body);  // [10, 70) MiB: pages [20, 40) and [40, 60) lie inside
  EXPECT_EQ(a.stats().held(), 60 * kMiB);
  EXPECT_NE(a.alloc(40 * kMiB, 1), kOutOfMemory);
  EXPECT_EQ(a.stats().reserved, 100 * kMiB);
  EXPECT_EQ(a.stats().retries, 1);
  a.free(head);
  a.free(tail);
  EXPECT_EQ(a.stats().allocated, 40 * kMiB);
}

}  // namespace
}  // namespace windtunnel
