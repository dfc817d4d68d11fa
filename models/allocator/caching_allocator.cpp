#include "models/allocator/caching_allocator.h"

#include <algorithm>
#include <type_traits>

#include "core/check.h"
#include "core/counter_random.h"

namespace windtunnel {

void CachingAllocator::reset(AllocatorSettings settings) {
  settings_ = settings;
  stats_ = {};
  next_address_ = 0;
  blocks_.clear();
  unused_.clear();
  segments_.clear();
  for (FreeBlocks& pool : pools_) pool.clear();
  for (std::vector<Block>& pool : unmapped_) pool.clear();
}

CachingAllocator::Block CachingAllocator::alloc_block(std::int64_t size, std::uint32_t pool) {
  if (pool >= pools_.size()) [[unlikely]]
    add_pools(pool + 1);
  Block block = take_cached(size, pool);
  if (block == kNoBlock) [[unlikely]] {
    block = take_from_device_or_retry(size, pool);
    if (block == kNoBlock) return kOutOfMemory;
  }
  const std::int64_t rest = blocks_[block].size - size;
  if (rest > 0 && rest >= least_rest(is_small_pool(pool) || settings_.expandable_segments)) {
    put_in_cache(split_off(block, size));
  }
  Record& record = blocks_[block];
  record.state = State::live;
  stats_.allocated += record.size;
  note_peaks();
  return block;
}

void CachingAllocator::free(Block block) {
  const Record& record = blocks_[block];
  stats_.allocated -= record.size;
  put_in_cache(has_free_neighbour(record) ? merge_with_neighbours(block) : block);
}

void CachingAllocator::add_pools(std::uint32_t count) {
  pools_.resize(count);
  unmapped_.resize(count);
}

void CachingAllocator::retire(Block block) {
  Record& record = blocks_[block];
  record.state = State::retired;
  stats_.allocated -= record.size;
  stats_.retired += record.size;
}

void CachingAllocator::release(Block block) {
  stats_.retired -= blocks_[block].size;
  put_in_cache(merge_with_neighbours(block));
}

CachingAllocator::Block CachingAllocator::take_cached(std::int64_t size, std::uint32_t pool) {
  if (size >= FreeBlocks::kMostBytes) [[unlikely]]
    return kNoBlock;
  FreeBlocks& cached = pools_[pool];
  FreeBlocks::Position found = cached.best_fit(size);
  if (FreeBlocks::past_end(found)) return kNoBlock;
  if (settings_.expandable_segments) found = prefer_low_growth(found, cached);
  const Block block = cached.take(found);
  leave_cache(block);
  return block;
}

CachingAllocator::Block CachingAllocator::take_from_device_or_retry(std::int64_t size,
                                                                    std::uint32_t pool) {
  const Block block = take_from_device(size, pool);
  if (block != kNoBlock) return block;
  empty_cache();
  ++stats_.retries;
  return take_from_device(size, pool);
}

CachingAllocator::Block CachingAllocator::take_from_device(std::int64_t size, std::uint32_t pool) {
  if (settings_.expandable_segments) return expand(size, pool);
  const std::int64_t bytes = segment_bytes(size);
  if (stats_.reserved + bytes > settings_.capacity_bytes) return kNoBlock;
  const Block block = new_record({.address = next_address_, .size = bytes, .pool = pool});
  next_address_ += bytes;
  segments_.push_back(block);
  stats_.reserved += bytes;
  ++stats_.device_allocs;
  return block;
}

void CachingAllocator::empty_cache() {
  std::vector<Block> returned;
  for (const FreeBlocks& cached : pools_) {
    for (auto at = cached.first(); !FreeBlocks::past_end(at); at = cached.next(at)) {
      if (returnable(blocks_[cached.at(at).block]) > 0) returned.push_back(cached.at(at).block);
    }
  }
  for (const Block block : returned) {
    if (settings_.expandable_segments) {
      unmap_pages(block);
      continue;
    }
    Record& record = blocks_[block];
    leave_cache(block);
    pools_[record.pool].remove(record.size, record.address);
    stats_.reserved -= record.size;
    std::erase(segments_, block);
    unused_.push_back(block);
  }
}

std::uint64_t CachingAllocator::cache_signature() const {
  std::uint64_t sum = counter_hash(static_cast<std::uint64_t>(stats_.allocated),
                                   static_cast<std::uint64_t>(stats_.reserved),
                                   static_cast<std::uint64_t>(next_address_));
  for (const FreeBlocks& cached : pools_) {
    for (auto at = cached.first(); !FreeBlocks::past_end(at); at = cached.next(at)) {
      const FreeBlocks::Entry& entry = cached.at(at);
      sum += mix64(static_cast<std::uint64_t>(entry.address) ^ (std::uint64_t{entry.units} << 40));
    }
  }
  return sum;
}

// --- blocks of a segment ---

CachingAllocator::Block CachingAllocator::new_record(const Record& record) {
  if (unused_.empty()) {
    blocks_.push_back(record);
    return static_cast<Block>(blocks_.size() - 1);
  }
  const Block block = unused_.back();
  unused_.pop_back();
  blocks_[block] = record;
  return block;
}

CachingAllocator::Block CachingAllocator::split_off(Block block, std::int64_t size) {
  const Record whole = blocks_[block];
  const Block rest = new_record({.address = whole.address + size,
                                 .size = whole.size - size,
                                 .prev = block,
                                 .next = whole.next,
                                 .pool = whole.pool,
                                 .state = whole.state});
  if (whole.next != kNoBlock) blocks_[whole.next].prev = rest;
  blocks_[block].size = size;
  blocks_[block].next = rest;
  return rest;
}

void CachingAllocator::absorb_next(Block block) {
  Record& record = blocks_[block];
  const Block gone = record.next;
  record.size += blocks_[gone].size;
  record.next = blocks_[gone].next;
  if (record.next != kNoBlock) blocks_[record.next].prev = block;
  unused_.push_back(gone);
}

/// Joins `block`, about to be cached, with cached neighbours; these leave the cache.
CachingAllocator::Block CachingAllocator::merge_with_neighbours(Block block) {
  Record& record = blocks_[block];
  if (record.next != kNoBlock && blocks_[record.next].state == State::free) {
    const Record& next = blocks_[record.next];
    leave_cache(record.next);
    pools_[next.pool].remove(next.size, next.address);
    absorb_next(block);
  }
  if (record.prev != kNoBlock && blocks_[record.prev].state == State::free) {
    const Block low = record.prev;
    leave_cache(low);
    pools_[record.pool].remove(blocks_[low].size, blocks_[low].address);
    absorb_next(low);
    return low;
  }
  return block;
}

bool CachingAllocator::has_free_neighbour(const Record& record) const {
  return (record.next != kNoBlock && blocks_[record.next].state == State::free) ||
         (record.prev != kNoBlock && blocks_[record.prev].state == State::free);
}

std::int64_t CachingAllocator::whole_pages(const Record& record) {
  // Written out per size class: division by a constant is a multiplication.
  const auto inside = [&](auto page) {
    constexpr std::int64_t kPage = decltype(page)::value;
    const std::int64_t begin = (record.address + kPage - 1) / kPage;
    return std::max<std::int64_t>((record.address + record.size) / kPage - begin, 0) * kPage;
  };
  return is_small_pool(record.pool)
             ? inside(std::integral_constant<std::int64_t, kSmallSegmentBytes>{})
             : inside(std::integral_constant<std::int64_t, kLargeSegmentBytes>{});
}

void CachingAllocator::put_in_cache(Block block) {
  Record& record = blocks_[block];
  record.state = State::free;
  stats_.whole += returnable(record);
  pools_[record.pool].insert(record.size, record.address, block);
}

void CachingAllocator::leave_cache(Block block) {
  stats_.whole -= returnable(blocks_[block]);
}

void CachingAllocator::note_peaks() {
  stats_.peak_reserved = std::max(stats_.peak_reserved, stats_.reserved);
  stats_.peak_held = std::max(stats_.peak_held, stats_.held());
}

}  // namespace windtunnel
