// The fast allocator against the plain one over random requests: same places, same counters, same
// out-of-memory, for every seed.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/counter_random.h"
#include "models/allocator/caching_allocator.h"
#include "tests/models/allocator/obvious_allocator.h"

namespace windtunnel {
namespace {

constexpr int kOps = 3000;
constexpr std::int64_t kGiB = 1024 * kMiB;

/// Sizes of three kinds: a few hundred bytes to small-pool limits, shared segments, own segments.
std::int64_t random_bytes(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t h = counter_hash(seed, i, 1);
  switch (h % 5) {
    case 0:
      return 1 + static_cast<std::int64_t>((h >> 8) % 5000);
    case 1:
      return 1 + static_cast<std::int64_t>((h >> 8) % (2 * kMiB));
    case 2:
      return kMiB + static_cast<std::int64_t>((h >> 8) % (12 * kMiB));
    case 3:
      return (1 + static_cast<std::int64_t>((h >> 8) % 6)) * 8 * kMiB;  // repeated sizes
    default:
      return 9 * kMiB + static_cast<std::int64_t>((h >> 8) % (60 * kMiB));
  }
}

/// Grows and shrinks: rounds of mostly allocations, then mostly frees.
bool allocates(std::uint64_t seed, std::uint64_t i) {
  const bool growing = (i / 200) % 2 == 0;
  return counter_hash(seed, i, 2) % 10 < (growing ? 7U : 3U);
}

/// Runs one seed through `fast` and `plain`; `same_place(fast block, plain place)` compares them.
template <class Plain, class Place, class SamePlace>
void compare(std::uint64_t seed, AllocatorSettings settings, SamePlace same_place) {
  CachingAllocator fast(settings);
  Plain plain(settings.capacity_bytes);
  std::vector<std::pair<CachingAllocator::Block, Place>> live;
  int refused = 0;
  for (std::uint64_t i = 0; i < kOps; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " op " + std::to_string(i));
    if (live.empty() || allocates(seed, i)) {
      const std::int64_t bytes = random_bytes(seed, i);
      const int stream = static_cast<int>(counter_hash(seed, i, 3) % 2);
      const auto block = fast.alloc(bytes, stream);
      const auto place = plain.alloc(bytes, stream);
      ASSERT_EQ(block == CachingAllocator::kOutOfMemory, !place.has_value());
      if (place) {
        ASSERT_TRUE(same_place(fast, block, *place));
        live.emplace_back(block, *place);
      } else {
        ++refused;
      }
    } else {
      const std::size_t k = counter_hash(seed, i, 4) % live.size();
      fast.free(live[k].first);
      plain.free(live[k].second);
      live[k] = live.back();
      live.pop_back();
    }
    ASSERT_EQ(fast.stats().allocated, plain.allocated());
    ASSERT_EQ(fast.stats().reserved, plain.reserved());
  }
  if (settings.capacity_bytes < 2 * kGiB) {
    EXPECT_GT(refused, 0) << "capacity never reached";
    EXPECT_GT(fast.stats().retries, refused - 1);
  }
}

const auto kSameAddress = [](const CachingAllocator& a, CachingAllocator::Block b,
                             std::int64_t place) { return a.address(b) == place; };

TEST(AllocatorProperty, FixedSegmentsUnlimited) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    compare<test::ObviousAllocator, std::int64_t>(seed, {.capacity_bytes = 512 * kGiB},
                                                  kSameAddress);
  }
}

TEST(AllocatorProperty, FixedSegmentsOnASmallDevice) {
  for (std::uint64_t seed = 10; seed < 18; ++seed) {
    compare<test::ObviousAllocator, std::int64_t>(seed, {.capacity_bytes = kGiB}, kSameAddress);
  }
}

/// Both number their ranges differently: compare the place within the range, which starts at a
/// multiple of the range's length in the order of first use.
struct SameOffset {
  std::vector<std::pair<std::pair<int, bool>, std::int64_t>> bases;
  bool operator()(const CachingAllocator& a, CachingAllocator::Block b,
                  const test::ObviousExpandable::Place& place) {
    const std::pair key{place.stream, place.small};
    for (const auto& [known, base] : bases) {
      if (known == key) return a.address(b) - base == place.address;
    }
    bases.emplace_back(key, a.address(b) - place.address);
    return place.address == 0;
  }
};

TEST(AllocatorProperty, ExpandableUnlimited) {
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    compare<test::ObviousExpandable, test::ObviousExpandable::Place>(
        seed, {.capacity_bytes = 512 * kGiB, .expandable_segments = true}, SameOffset{});
  }
}

TEST(AllocatorProperty, ExpandableOnASmallDevice) {
  for (std::uint64_t seed = 30; seed < 36; ++seed) {
    compare<test::ObviousExpandable, test::ObviousExpandable::Place>(
        seed, {.capacity_bytes = kGiB, .expandable_segments = true}, SameOffset{});
  }
}

TEST(AllocatorProperty, HeldIsWhatEmptyingTheCacheLeaves) {
  for (const bool expandable : {false, true}) {
    CachingAllocator allocator({.expandable_segments = expandable});
    std::vector<CachingAllocator::Block> live;
    for (std::uint64_t i = 0; i < kOps; ++i) {
      if (live.empty() || allocates(7, i)) {
        live.push_back(allocator.alloc(random_bytes(7, i), 0));
      } else {
        const std::size_t k = counter_hash(7, i, 4) % live.size();
        allocator.free(live[k]);
        live[k] = live.back();
        live.pop_back();
      }
      if (i % 500 != 499) continue;
      const std::int64_t held = allocator.stats().held();
      EXPECT_LT(held, allocator.stats().reserved);
      allocator.empty_cache();
      EXPECT_EQ(allocator.stats().reserved, held);
      EXPECT_EQ(allocator.stats().held(), held);
    }
  }
}

}  // namespace
}  // namespace windtunnel
