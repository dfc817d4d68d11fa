// Expandable segments of the caching allocator: one address range per pool, mapped page by page.
//
// A segment is a chain of mapped blocks (live, free) and unmapped ranges. To serve a request that
// no cached block can, the lowest place is taken where free and unmapped blocks in a row are large
// enough, and as many pages as are missing are mapped there. Source: models/allocator/
// allocator_rules.h.

#include <algorithm>

#include "models/allocator/caching_allocator.h"

namespace windtunnel {
namespace {

// Address space of a segment: 1 1/8 of the device, so that pages freed in front can return at the
// end.
constexpr std::int64_t kAddressSpaceEighths = 9;

// Segments start at a multiple of the largest page, so page borders follow from addresses alone.
constexpr std::int64_t kSegmentAlignment = kLargeSegmentBytes;

}  // namespace

/// What a cached block could grow to: itself and the unmapped range behind it.
std::int64_t CachingAllocator::growth_limit(Block block) const {
  const Record& record = blocks_[block];
  const bool grows = record.next != kNoBlock && blocks_[record.next].state == State::unmapped;
  return record.size + (grows ? blocks_[record.next].size : 0);
}

/// Best fit counts the block before an unmapped range with the size it could grow to, so that range
/// is kept for large requests.
FreeBlocks::Position CachingAllocator::prefer_low_growth(FreeBlocks::Position found,
                                                         const FreeBlocks& cached) const {
  while (true) {
    const FreeBlocks::Position next = cached.next(found);
    if (FreeBlocks::past_end(next)) return found;
    if (growth_limit(cached.at(next).block) >= growth_limit(cached.at(found).block)) return found;
    found = next;
  }
}

/// Maps pages until a free block of `size` bytes exists and returns it, out of the cache; or
/// returns kNoBlock, keeping what was mapped.
CachingAllocator::Block CachingAllocator::expand(std::int64_t size, std::uint32_t pool) {
  Block block = find_room(size, pool);
  if (blocks_[block].state == State::unmapped) {
    block = map_pages(block, std::min(blocks_[block].size, size));
  }
  while (block != kNoBlock && blocks_[block].size < size) {
    const Block behind = blocks_[block].next;
    const std::int64_t missing = size - blocks_[block].size;
    block = map_pages(behind, std::min(missing, blocks_[behind].size));
  }
  if (block == kNoBlock) return kNoBlock;
  leave_cache(block);
  pools_[pool].remove(blocks_[block].size, blocks_[block].address);
  return block;
}

/// The lowest free or unmapped block from which `size` bytes of free or unmapped blocks follow; a
/// new segment if there is none.
CachingAllocator::Block CachingAllocator::find_room(std::int64_t size, std::uint32_t pool) {
  const auto usable = [this](Block b) {
    return b != kNoBlock &&
           (blocks_[b].state == State::free || blocks_[b].state == State::unmapped);
  };
  for (Block start : unmapped_[pool]) {
    if (usable(blocks_[start].prev)) start = blocks_[start].prev;
    std::int64_t room = 0;
    for (Block b = start; usable(b) && room < size; b = blocks_[b].next) room += blocks_[b].size;
    if (room >= size) return start;
  }
  const std::int64_t wanted =
      std::max(settings_.capacity_bytes / (kAddressSpaceEighths - 1) * kAddressSpaceEighths, size);
  const std::int64_t bytes = round_up(wanted, kSegmentAlignment);
  const Block segment =
      new_record({.address = next_address_, .size = bytes, .pool = pool, .state = State::unmapped});
  next_address_ += bytes;
  segments_.push_back(segment);
  add_unmapped(segment);
  return segment;
}

/// Maps the pages that cover the first `size` bytes of an unmapped block, merges the result with
/// its free neighbours and caches it; kNoBlock when the device has too few pages left.
CachingAllocator::Block CachingAllocator::map_pages(Block unmapped, std::int64_t size) {
  const std::uint32_t pool = blocks_[unmapped].pool;
  const std::int64_t bytes = round_up(size, page_bytes(is_small_pool(pool)));
  if (stats_.reserved + bytes > settings_.capacity_bytes) return kNoBlock;
  remove_unmapped(unmapped);
  if (bytes < blocks_[unmapped].size) add_unmapped(split_off(unmapped, bytes));
  stats_.reserved += bytes;
  ++stats_.device_allocs;
  const Block block = merge_with_neighbours(unmapped);
  put_in_cache(block);
  return block;
}

/// Gives back the pages that lie wholly inside a cached block.
void CachingAllocator::unmap_pages(Block block) {
  const Record record = blocks_[block];
  const std::int64_t page = page_bytes(is_small_pool(record.pool));
  const std::int64_t begin = round_up(record.address, page);
  const std::int64_t bytes = returnable(record);
  leave_cache(block);
  pools_[record.pool].remove(record.size, record.address);
  stats_.reserved -= bytes;
  Block middle = block;
  if (begin > record.address) {
    middle = split_off(block, begin - record.address);
    put_in_cache(block);
  }
  if (bytes < blocks_[middle].size) put_in_cache(split_off(middle, bytes));
  blocks_[middle].state = State::unmapped;
  const Block next = blocks_[middle].next;
  if (next != kNoBlock && blocks_[next].state == State::unmapped) {
    remove_unmapped(next);
    absorb_next(middle);
  }
  const Block prev = blocks_[middle].prev;
  if (prev != kNoBlock && blocks_[prev].state == State::unmapped) {
    absorb_next(prev);
    return;
  }
  add_unmapped(middle);
}

void CachingAllocator::add_unmapped(Block block) {
  std::vector<Block>& all = unmapped_[blocks_[block].pool];
  const auto behind = std::find_if(all.begin(), all.end(), [&](Block other) {
    return blocks_[other].address > blocks_[block].address;
  });
  all.insert(behind, block);
}

void CachingAllocator::remove_unmapped(Block block) {
  std::erase(unmapped_[blocks_[block].pool], block);
}

}  // namespace windtunnel
