#pragma once
// PyTorch's CUDA caching allocator as an exact model without a device: which block serves which
// request, what is asked of cudaMalloc, what stays cached, when it runs out of memory.
//
// Blocks are parts of segments; a freed block merges with free neighbours of its segment and is
// cached in the pool of its stream and size class (small: up to 1 MiB). A request takes the
// smallest cached block of its pool that is large enough, ties broken by the lower address, and
// gives the rest back. Without one, a segment is taken from the device; if the device is full,
// every cached block that is a whole segment is returned to the device and the request is tried
// once more.
//
// Expandable segments: one address range per pool grows by physical pages (2 MiB small pool, 20 MiB
// large); a full device unmaps the pages that lie wholly inside cached blocks.
//
// Device addresses are not known to a model; segments get rising addresses in the order they are
// taken. Rules: models/allocator/allocator_rules.h and the source named there. Defaults only:
// max_split_size unlimited, no power-of-two rounding, no garbage collection, one device.
//
//   CachingAllocator allocator({.capacity_bytes = 80 * kGiB});
//   auto block = allocator.alloc(bytes, stream);   // kOutOfMemory: does not fit
//   allocator.free(block);

#include <cstdint>
#include <limits>
#include <vector>

#include "models/allocator/allocator_rules.h"
#include "models/allocator/free_blocks.h"

namespace windtunnel {

struct AllocatorSettings {
  std::int64_t capacity_bytes = std::int64_t{1}
                                << 40;  // for this allocator; 1 TiB: no limit in practice
  bool expandable_segments = false;
};

/// Byte counters under PyTorch's names. `held` is the part of reserved that no emptying of the
/// cache gives back: segments (pages, when expandable) with a live block.
struct AllocatorStats {
  std::int64_t allocated = 0;  // live blocks, each as large as the block that serves it
  std::int64_t retired = 0;    // freed, but still used by another stream
  std::int64_t reserved = 0;   // segments, or mapped pages
  std::int64_t whole = 0;      // free blocks that are a segment, or whole pages inside free blocks
  std::int64_t peak_reserved = 0;
  std::int64_t peak_held = 0;
  std::int64_t device_allocs = 0;  // cudaMalloc calls or page mappings that succeeded
  std::int64_t retries = 0;        // times the cache was emptied

  std::int64_t active() const { return allocated + retired; }
  std::int64_t held() const { return reserved - whole; }
};

class CachingAllocator {
 public:
  using Block = std::uint32_t;
  static constexpr Block kOutOfMemory = 0xffffffffU;
  static constexpr Block kNoBlock = 0xffffffffU;

  enum class State : std::uint8_t { live, retired, free, unmapped };

  explicit CachingAllocator(AllocatorSettings settings = {}) { reset(settings); }

  /// Back to an empty device; storage is kept for reuse.
  void reset(AllocatorSettings settings);

  /// Serves `bytes` > 0 for `stream` (0 <= stream < 32), or returns kOutOfMemory.
  Block alloc(std::int64_t bytes, int stream) {
    const std::int64_t size = block_bytes(bytes);
    return alloc_block(size, pool_of(size, stream));
  }
  /// The same with the rounding done before: `size` = block_bytes(bytes), `pool` = pool_of(...).
  Block alloc_block(std::int64_t size, std::uint32_t pool);

  void free(Block block);

  /// free() in two halves, for a block another stream still uses (record_stream): it is not
  /// allocated any more, and can be served again only after the stream's event: release().
  void retire(Block block);
  void release(Block block);

  /// Returns every cached block that is a whole segment (whole page) to the device.
  void empty_cache();

  const AllocatorStats& stats() const { return stats_; }
  /// Cached bytes in segments that also hold live blocks (or unmapped pages).
  std::int64_t inactive_split() const {
    const std::int64_t cached = stats_.reserved - stats_.active();
    return settings_.expandable_segments ? cached : cached - stats_.whole;
  }
  void reset_peaks() {
    stats_.peak_reserved = stats_.reserved;
    stats_.peak_held = stats_.held();
  }

  static std::uint32_t pool_of(std::int64_t size, int stream) {
    return static_cast<std::uint32_t>(stream) * 2 + (is_small_block(size) ? 0U : 1U);
  }

  std::int64_t address(Block block) const { return blocks_[block].address; }
  std::int64_t size(Block block) const { return blocks_[block].size; }

  /// Hash of the cached blocks and of every counter that decides later requests, in O(cached
  /// blocks): equal for equal states, a cheap sign that two states may be equal.
  std::uint64_t cache_signature() const;

  /// Calls `visit(block, address, size, state)` for every block in address order.
  template <class Visit>
  void for_each_block(Visit visit) const {
    for (const Block first : segments_) {
      for (Block b = first; b != kNoBlock; b = blocks_[b].next) {
        visit(b, blocks_[b].address, blocks_[b].size, blocks_[b].state);
      }
    }
  }

 private:
  struct Record {
    std::int64_t address = 0;
    std::int64_t size = 0;
    Block prev = kNoBlock;
    Block next = kNoBlock;
    std::uint32_t pool = 0;
    State state = State::free;
  };

  static bool is_small_pool(std::uint32_t pool) { return (pool & 1) == 0; }

  Block new_record(const Record& record);
  Block split_off(Block block, std::int64_t size);  // the part behind the first `size` bytes
  void absorb_next(Block block);
  Block merge_with_neighbours(Block block);
  bool has_free_neighbour(const Record& record) const;
  /// Bytes of a cached block that emptying the cache gives back.
  std::int64_t returnable(const Record& record) const {
    if (settings_.expandable_segments) return whole_pages(record);
    return record.prev == kNoBlock && record.next == kNoBlock ? record.size : 0;
  }
  static std::int64_t whole_pages(const Record& record);
  void put_in_cache(Block block);
  void leave_cache(Block block);  // counters only; the caller takes the pool's entry
  Block take_cached(std::int64_t size, std::uint32_t pool);
  Block take_from_device(std::int64_t size, std::uint32_t pool);
  Block take_from_device_or_retry(std::int64_t size, std::uint32_t pool);
  void add_pools(std::uint32_t count);
  void note_peaks();

  // Expandable segments.
  FreeBlocks::Position prefer_low_growth(FreeBlocks::Position found,
                                         const FreeBlocks& cached) const;
  std::int64_t growth_limit(Block block) const;
  Block expand(std::int64_t size, std::uint32_t pool);
  Block find_room(std::int64_t size, std::uint32_t pool);
  Block map_pages(Block unmapped, std::int64_t size);
  void unmap_pages(Block block);
  void add_unmapped(Block block);
  void remove_unmapped(Block block);

  AllocatorSettings settings_;
  AllocatorStats stats_;
  std::int64_t next_address_ = 0;
  std::vector<Record> blocks_;
  std::vector<Block> unused_;                 // records to reuse
  std::vector<FreeBlocks> pools_;             // by pool
  std::vector<std::vector<Block>> unmapped_;  // by pool, in address order
  std::vector<Block> segments_;               // first block of each segment, in address order
};

}  // namespace windtunnel
